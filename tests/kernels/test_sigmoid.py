"""P-L10: sigmoid."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn.kernels.pointwise import sigmoid

pytestmark = pytest.mark.usefixtures("on_the_reference")

shapes = st.lists(st.integers(1, 3), min_size=1, max_size=4)


@settings(max_examples=40, deadline=None)
@given(shape=shapes, seed=st.integers(0, 2**32 - 1))
def test_sigmoid(normal, assert_slope, shape, seed):
    """P-L10: 1/(1 + exp(-x)) (eq 32), gradient from y (eq 33)."""
    x, next_grad = normal(seed, *shape), normal(seed + 1, *shape)
    expected = np.array([1 / (1 + math.exp(-number)) for number in x.ravel()]).reshape(shape)
    y = sigmoid.forward(x)
    np.testing.assert_allclose(y, expected, rtol=1e-14)
    assert_slope(sigmoid.backward(next_grad, y), sigmoid.forward, x, next_grad)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_far_out_without_warning(dtype):
    """P-L10: no overflow at ±1000, and small values keep their digits instead of drowning in a 1."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y = sigmoid.forward(np.array([-1000, 1000, -np.inf, np.inf, 0, -30], dtype=dtype))
    np.testing.assert_array_equal(y[:5], np.array([0, 1, 0, 1, 0.5], dtype=dtype))
    np.testing.assert_allclose(y[5], math.exp(-30), rtol=1e-6)


def test_nan_stays_visible():
    """P-L10: NaN in, NaN out."""
    assert np.isnan(sigmoid.forward(np.array([np.nan]))).all()
