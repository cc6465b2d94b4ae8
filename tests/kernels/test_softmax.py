"""P-L11: softmax."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn.kernels import softmax

pytestmark = pytest.mark.usefixtures("on_the_reference")

shapes = st.tuples(st.integers(1, 4), st.integers(1, 5))
seeds = st.integers(0, 2**32 - 1)


@settings(max_examples=40, deadline=None)
@given(shape=shapes, seed=seeds)
def test_softmax(normal, assert_slope, shape, seed):
    """P-L11: exp over the sum of exp along features (eq 34); its slope (eq 35)."""
    x, next_grad = normal(seed, *shape), normal(seed + 1, *shape)
    y = softmax.forward(x)
    for row, got in zip(x, y, strict=True):
        total = sum(math.exp(number) for number in row)
        np.testing.assert_allclose(got, [math.exp(number) / total for number in row], rtol=1e-13)
    assert_slope(softmax.backward(next_grad, y), softmax.forward, x, next_grad)


@settings(max_examples=40, deadline=None)
@given(shape=shapes, seed=seeds)
def test_backward_is_the_jacobian(normal, shape, seed):
    """G-L5, P-L11: row by row dy times J = diag(y) - y yᵀ (eq 35)."""
    y, next_grad = softmax.forward(normal(seed, *shape)), normal(seed + 1, *shape)
    expected = [row_grad @ (np.diag(row) - np.outer(row, row)) for row_grad, row in zip(next_grad, y, strict=True)]
    np.testing.assert_allclose(softmax.backward(next_grad, y), expected, rtol=1e-10, atol=1e-14)


def test_golden():
    """P-L11: section 6, softmax of [2, 4, 3]."""
    np.testing.assert_allclose(
        softmax.forward(np.array([[2.0, 4, 3]])), [[0.09003057, 0.6652409, 0.24472846]], rtol=1e-6
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_far_out_without_warning(dtype):
    """P-L11, C-R7: ±1e4 is no trouble."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y = softmax.forward(np.array([[1e4, -1e4, 0], [1e4, 1e4, -1e4], [-1e4, -1e4, -1e4]], dtype=dtype))
    np.testing.assert_allclose(y, [[1, 0, 0], [0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3]], rtol=1e-6)
