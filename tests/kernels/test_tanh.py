"""Tanh: no row of its own in section 1, the sibling of P-L10."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn.kernels.pointwise import tanh

pytestmark = pytest.mark.usefixtures("on_the_reference")

shapes = st.lists(st.integers(1, 3), min_size=1, max_size=4)


@settings(max_examples=40, deadline=None)
@given(shape=shapes, seed=st.integers(0, 2**32 - 1))
def test_tanh(normal, assert_slope, shape, seed):
    """As P-L10: the function, and its gradient from y."""
    x, next_grad = normal(seed, *shape), normal(seed + 1, *shape)
    y = tanh.forward(x)
    np.testing.assert_allclose(y, np.array([math.tanh(number) for number in x.ravel()]).reshape(shape), rtol=1e-14)
    assert_slope(tanh.backward(next_grad, y), tanh.forward, x, next_grad)


def test_far_out_without_warning():
    """As P-L10: ±1000 gives ±1."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(tanh.forward(np.array([-1000.0, 0.0, 1000.0])), [-1, 0, 1])
