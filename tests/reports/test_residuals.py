"""The picture of a regression: the same numbers give the same bytes, and what is not finite is left out."""

import numpy as np
import pytest

from typednn.reports.residuals import residual_picture
from typednn.runs.shown import Residuals

pytest.importorskip("matplotlib", reason="needs the extra typednn[plots]")

TRUE = np.linspace(-5, 5, 200)
PREDICTED = TRUE + np.random.default_rng(0).standard_normal(200)


def test_the_same_bytes() -> None:
    assert residual_picture(Residuals.of(PREDICTED, TRUE)) == residual_picture(Residuals.of(PREDICTED, TRUE))
    assert residual_picture(Residuals.of(PREDICTED, TRUE)) != residual_picture(Residuals.of(PREDICTED + 0.5, TRUE))


def test_what_is_not_finite_is_left_out() -> None:
    broken = np.append(PREDICTED, [np.nan, np.inf])
    assert residual_picture(Residuals(broken[:, None], np.append(TRUE, [0.0, 0.0])[:, None])) == residual_picture(
        Residuals(PREDICTED[:, None], TRUE[:, None])
    )
    nothing = np.full((3, 1), np.nan)
    assert residual_picture(Residuals(nothing, nothing)).startswith(b"\x89PNG")


def test_numbers_beyond_what_axes_can_show() -> None:
    ends = np.array([[-1e308], [1e308], [0.0]])
    assert residual_picture(Residuals(ends, -ends)).startswith(b"\x89PNG")
