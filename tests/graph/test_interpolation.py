"""interpolate against PyTorch's formula written out a number at a time; PyTorch itself is asked in tests/parity."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from graph_rows import check_gradient

from typednn.errors import ArgumentError, ShapeError, TypednnError
from typednn.graph import interpolate, tensor

SIZES = [
    ((5,), (8,)),
    ((5,), (3,)),
    ((4, 3), (7, 5)),
    ((4, 3), (1, 3)),
    ((2, 3, 2), (3, 2, 5)),
    *(((2,), (2 * times,)) for times in (49, 98, 103, 107)),
]


def along(x: Any, axis: int, new: int, mode: str, align: bool) -> Any:
    old = x.shape[axis]
    places = []
    for i in range(new):
        if mode == "nearest":
            places.append(np.take(x, i * old // new, axis))
            continue
        at = i * (old - 1) / max(new - 1, 1) if align else max((i + 0.5) * old / new - 0.5, 0)
        j = min(math.floor(at), old - 1)
        places.append((1 - (at - j)) * np.take(x, j, axis) + (at - j) * np.take(x, min(j + 1, old - 1), axis))
    return np.stack(places, axis)


@pytest.mark.parametrize(("old", "new"), SIZES)
@pytest.mark.parametrize(("mode", "align"), [("nearest", False), ("linear", False), ("linear", True)])
def test_values_are_those_of_the_formula(old: tuple[int, ...], new: tuple[int, ...], mode: str, align: bool) -> None:
    """X-A15: one, two and three inner axes, longer and shorter; and derivatives."""
    x = np.random.default_rng(0).standard_normal((2, *old, 3))
    want = x
    for place, size in enumerate(new):
        want = along(want, place + 1, size, mode, align)
    got = interpolate(tensor(x), new, mode=mode, align_corners=align).numpy()
    np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-14)
    check_gradient(lambda x: interpolate(x, new, mode=mode, align_corners=align), [x], 0)


def test_a_factor_is_the_step() -> None:
    """X-A15: the new size is rounded down, and the step is 1/factor, as in PyTorch."""
    x = np.arange(5.0).reshape(1, 5, 1)
    got = interpolate(tensor(x), scale_factor=1.5, mode="linear").numpy().ravel()
    np.testing.assert_allclose(got, [max((i + 0.5) / 1.5 - 0.5, 0) for i in range(7)], rtol=1e-14)
    np.testing.assert_array_equal(interpolate(tensor(x), scale_factor=2).numpy().ravel(), np.repeat(np.arange(5.0), 2))
    for times in (49, 98.0, 103, 107):
        np.testing.assert_array_equal(
            interpolate(tensor(x), scale_factor=times).numpy().ravel(), np.repeat(np.arange(5.0), int(times))
        )


x = tensor(np.ones((1, 4, 4, 2), np.float32))
REFUSED: list[tuple[Callable[[], Any], type[TypednnError], str]] = [
    (lambda: interpolate(x, 8, mode="cubic"), ArgumentError, "mode"),
    (lambda: interpolate(x, 8, 2.0), ArgumentError, "both"),
    (lambda: interpolate(x), ArgumentError, "none"),
    (lambda: interpolate(x, (8, 8, 8)), ShapeError, "2 inner axes"),
    (lambda: interpolate(x, scale_factor=0.1), ShapeError, "from 1 on"),
    (lambda: interpolate(x, scale_factor=-2.0), ArgumentError, "above 0"),
    (lambda: interpolate(x, 8, align_corners=True), ArgumentError, "linear"),
    (lambda: interpolate(tensor(np.ones((3, 3))), 8), ShapeError, "channels"),
]


@pytest.mark.parametrize(("make", "error", "said"), REFUSED)
def test_refusals_say_what_is_wrong(make: Callable[[], Any], error: type[TypednnError], said: str) -> None:
    with pytest.raises(error, match=f"interpolate.*{said}"):
        make()
