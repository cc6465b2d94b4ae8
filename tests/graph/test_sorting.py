"""Sorting: NumPy's order in every dtype, equal numbers and NaN too; derivatives by central differences."""

from typing import Any

import numpy as np
import pytest
from graph_rows import check_gradient
from hypothesis import given
from hypothesis import strategies as st

from typednn.errors import ArgumentError
from typednn.graph import argsort, has_nan, sort, tensor

SHAPES = st.lists(st.integers(1, 6), min_size=1, max_size=3).map(tuple)
DTYPES = (np.float32, np.float64, np.int8, np.int64, np.uint8)


@given(shape=SHAPES, dtype=st.sampled_from(DTYPES), seed=st.integers(0, 999), data=st.data())
def test_the_order_is_numpys(shape: tuple[int, ...], dtype: Any, seed: int, data: st.DataObject) -> None:
    """Z-T7: both ways; equal numbers keep their order, and NaN is the largest number."""
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    x = np.random.default_rng(seed).integers(-3 if np.dtype(dtype).kind != "u" else 0, 4, shape).astype(dtype)
    if np.dtype(dtype).kind == "f":
        x[x == 3] = np.nan
    np.testing.assert_array_equal(argsort(tensor(x), axis).numpy(), np.argsort(x, axis, kind="stable"))
    np.testing.assert_array_equal(sort(tensor(x), axis).numpy(), np.sort(x, axis))
    order = argsort(tensor(x), axis, descending=True).numpy()
    np.testing.assert_array_equal(np.take_along_axis(x, order, axis), np.flip(np.sort(x, axis), axis))
    steps = np.diff(order, axis=axis)
    lines = np.flip(np.sort(x, axis), axis)
    first, second = (np.take(lines, range(*cut), axis) for cut in ((0, shape[axis] - 1), (1, shape[axis])))
    equal = (first == second) | ((first != first) & (second != second))
    assert (steps[equal] > 0).all(), "equal numbers keep their order"
    np.testing.assert_array_equal(sort(tensor(x), axis, descending=True).numpy(), lines)


@pytest.mark.parametrize("descending", [False, True])
def test_derivatives_go_back_to_their_places(descending: bool) -> None:
    """Z-T7, Z-F1: a weighted sum of sorted numbers."""
    x = np.random.default_rng(0).permutation(np.linspace(-2, 2, 12)).reshape(3, 4)
    for axis in (0, 1):
        check_gradient(lambda x, axis=axis: sort(x, axis, descending), [x], 1)


def test_has_nan() -> None:
    """Z-T7: whether there is one, of any shape and dtype."""
    for x, found in (([1.0, np.nan], True), ([1.0, np.inf], False), ([], False), ([[1, 2]], False), (np.nan, True)):
        assert has_nan(tensor(np.asarray(x))).numpy() == found


def test_an_axis_that_is_not_there() -> None:
    for function in (sort, argsort):
        with pytest.raises(ArgumentError, match=f"{function.__name__}.*-2 to 1"):
            function(tensor(np.ones((2, 3))), 2)
