"""P-C3: labels as rows of targets."""

import numpy as np
import pytest

from typednn.data import one_hot
from typednn.errors import ArgumentError


def test_sharp() -> None:
    """P-C3: one in its own class."""
    targets = one_hot(np.array([2, 0]), 3)
    np.testing.assert_array_equal(targets, [[0, 0, 1], [1, 0, 0]])
    assert targets.dtype == np.float32


def test_smoothed_as_in_the_paper() -> None:
    """P-C3: 0.91 and 0.01 sum to one over ten classes."""
    targets = one_hot(np.arange(10, dtype=np.uint8), 10, on=0.91, off=0.01)
    np.testing.assert_allclose(targets.sum(axis=1), 1.0, rtol=1e-6)
    np.testing.assert_array_equal(targets, np.where(np.eye(10) == 1, 0.91, 0.01).astype(np.float32))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 9, 10], "one_hot: labels must be 0 to 9, as there are 10 classes, got 10 in row 2"),
        ([-1, 0], "got -1 in row 0"),
        ([0.5], "labels must be an array of integers, got float64; convert it"),
        ([True], "labels must be an array of integers, got bool"),
        ([[1]], r"labels must have one axis, a class per row, got shape \(1, 1\)"),
    ],
)
def test_what_is_no_label(labels: list[int], message: str) -> None:
    """P-C3: a label that names no class is refused, with its row."""
    with pytest.raises(ArgumentError, match=message):
        one_hot(np.array(labels), 10)


def test_classes_and_values_are_checked() -> None:
    with pytest.raises(ArgumentError, match="classes must be an integer of at least 1, got 0"):
        one_hot(np.array([0]), 0)
    with pytest.raises(ArgumentError, match="on must be a finite number"):
        one_hot(np.array([0]), 1, on=float("nan"))
