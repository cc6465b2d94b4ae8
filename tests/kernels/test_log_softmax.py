"""Log-softmax: the reference beside Python's math, and its slope beside central differences."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn.kernels import log_softmax

pytestmark = pytest.mark.usefixtures("on_the_reference")


@settings(max_examples=40, deadline=None)
@given(shape=st.tuples(st.integers(1, 4), st.integers(1, 5)), seed=st.integers(0, 2**32 - 1))
def test_log_softmax(normal, assert_slope, shape, seed):
    """By hand."""
    x, next_grad = normal(seed, *shape), normal(seed + 1, *shape)
    y = log_softmax.forward(x)
    for row, got in zip(x, y, strict=True):
        total = sum(math.exp(number) for number in row)
        np.testing.assert_allclose(got, [number - math.log(total) for number in row], rtol=1e-13, atol=1e-14)
    assert_slope(log_softmax.backward(next_grad, y), log_softmax.forward, x, next_grad)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_far_out_without_warning(dtype):
    """A probability of exp(-20000) has a logarithm."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y = log_softmax.forward(np.array([[1e4, -1e4, 0], [1e4, 1e4, -1e4]], dtype=dtype))
    np.testing.assert_allclose(y, [[0, -2e4, -1e4], [-math.log(2), -math.log(2), -2e4 - math.log(2)]], rtol=1e-6)
