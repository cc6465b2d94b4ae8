"""GLU: the reference beside Python's math, and its slope beside central differences."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn.kernels import glu

pytestmark = pytest.mark.usefixtures("on_the_reference")


@settings(max_examples=40, deadline=None)
@given(rows=st.integers(1, 4), half=st.integers(1, 4), seed=st.integers(0, 2**32 - 1))
def test_glu(normal, assert_slope, rows, half, seed):
    x, next_grad = normal(seed, rows, 2 * half), normal(seed + 1, rows, half)
    expected = [[row[k] / (1 + math.exp(-row[k + half])) for k in range(half)] for row in x]
    np.testing.assert_allclose(glu.forward(x), expected, rtol=1e-14)
    measured = np.empty_like(x)
    for place in np.ndindex(x.shape):
        higher, lower = x.copy(), x.copy()
        higher[place] += 1e-5
        lower[place] -= 1e-5
        measured[place] = ((glu.forward(higher) - glu.forward(lower)) * next_grad).sum() / 2e-5
    np.testing.assert_allclose(glu.backward(next_grad, x), measured, atol=1e-8)


def test_far_out_without_warning():
    x = np.array([[2.0, 2.0, 1000.0, -1000.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(glu.forward(x), [[2, 0]])
        np.testing.assert_array_equal(glu.backward(np.ones((1, 2)), x), [[1, 0, 0, 0]])
