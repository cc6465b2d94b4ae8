"""P-L15: leaky_relu."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn.kernels.pointwise import leaky_relu

pytestmark = pytest.mark.usefixtures("on_the_reference")

shapes = st.lists(st.integers(1, 3), min_size=1, max_size=4)


@settings(max_examples=40, deadline=None)
@given(shape=shapes, negative_slope=st.floats(-2, 2), seed=st.integers(0, 2**32 - 1))
def test_leaky_relu(normal, off_kink, assert_slope, shape, negative_slope, seed):
    """P-L15: x, or slope·x below 0; any rank, any slope."""
    x, next_grad = off_kink(seed, *shape), normal(seed + 1, *shape)
    expected = np.array([number if number > 0 else negative_slope * number for number in x.ravel()]).reshape(shape)
    np.testing.assert_array_equal(leaky_relu.forward(x, negative_slope), expected)
    assert_slope(
        leaky_relu.backward(next_grad, x, negative_slope),
        lambda at: leaky_relu.forward(at, negative_slope),
        x,
        next_grad,
    )


def test_by_hand():
    """P-L15: slope 0.01; at 0 the slope of the negative side."""
    x = np.array([3.0, -2.0, 0.0])
    np.testing.assert_allclose(leaky_relu.forward(x, 0.01), [3, -0.02, 0])
    np.testing.assert_array_equal(leaky_relu.backward(np.ones(3), x, 0.01), [1, 0.01, 0.01])
