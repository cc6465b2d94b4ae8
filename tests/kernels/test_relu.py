"""P-L9: relu."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn.kernels.pointwise import relu

pytestmark = pytest.mark.usefixtures("on_the_reference")

shapes = st.lists(st.integers(1, 3), min_size=1, max_size=4)


@settings(max_examples=40, deadline=None)
@given(shape=shapes, seed=st.integers(0, 2**32 - 1))
def test_relu(normal, off_kink, assert_slope, shape, seed):
    """P-L9: max(x, 0) of any rank (eq 30); its slope (eq 31)."""
    x, next_grad = off_kink(seed, *shape), normal(seed + 1, *shape)
    expected = np.array([max(number, 0.0) for number in x.ravel()]).reshape(shape)
    np.testing.assert_array_equal(relu.forward(x), expected)
    assert_slope(relu.backward(next_grad, x), relu.forward, x, next_grad)


def test_gradient_at_and_around_zero():
    """P-L9: 0 at x <= 0, and for [3, -2, 0] the gradient of section 6."""
    x = np.array([3.0, -2.0, 0.0])
    np.testing.assert_array_equal(relu.backward(np.ones(3), x), [1, 0, 0])
    np.testing.assert_array_equal(relu.backward(np.full(3, np.inf), x), [np.inf, 0, 0])


def test_nan_stays_visible():
    """P-L9: a NaN is not turned into a harmless 0."""
    assert np.isnan(relu.forward(np.array([np.nan]))).all()
