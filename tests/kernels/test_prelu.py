"""P-L16: prelu."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn.kernels import prelu

pytestmark = pytest.mark.usefixtures("on_the_reference")

shapes = st.lists(st.integers(1, 3), min_size=1, max_size=4)


@settings(max_examples=40, deadline=None)
@given(shape=shapes, seed=st.integers(0, 2**32 - 1))
def test_prelu(normal, off_kink, assert_slope, shape, seed):
    """P-L16: x, or slope·x below 0; gradients by x and by the slope."""
    x, next_grad, slope = off_kink(seed, *shape), normal(seed + 1, *shape), normal(seed, 1)
    expected = np.array([number if number > 0 else slope.item() * number for number in x.ravel()]).reshape(shape)
    np.testing.assert_array_equal(prelu.forward(x, slope), expected)
    dx, dslope = prelu.backward(next_grad, x, slope)
    assert_slope(dx, lambda at: prelu.forward(at, slope), x, next_grad)
    assert_slope(dslope, lambda at: prelu.forward(x, at), slope, next_grad)


def test_slope_gradient_by_hand():
    """P-L16: Σ dy·x·[x <= 0], from the input and not from the slope (section 1g)."""
    x, next_grad = np.array([[2.0, -3.0], [0.0, -1.0]]), np.array([[5.0, 7.0], [11.0, 13.0]])
    dx, dslope = prelu.backward(next_grad, x, np.array([0.5]))
    np.testing.assert_array_equal(dslope, [7 * -3 + 13 * -1])
    np.testing.assert_array_equal(dx, [[5, 3.5], [5.5, 6.5]])
