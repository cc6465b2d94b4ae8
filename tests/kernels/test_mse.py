"""P-S1: squared error."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn.kernels.pointwise_losses import mse

pytestmark = pytest.mark.usefixtures("on_the_reference")

shapes = st.lists(st.integers(1, 3), min_size=1, max_size=4)


@settings(max_examples=40, deadline=None)
@given(shape=shapes, scale=st.floats(0.01, 10), seed=st.integers(0, 2**32 - 1))
def test_mse(normal, assert_slope, shape, scale, seed):
    """P-S1: (p - t)² per element (eq 40); 2·scale·(p - t) (eq 41); any rank."""
    prediction, target = normal(seed, *shape), normal(seed + 1, *shape)
    expected = np.array([(p - t) ** 2 for p, t in zip(prediction.ravel(), target.ravel(), strict=True)]).reshape(shape)
    np.testing.assert_allclose(mse.forward(prediction, target), expected, rtol=1e-14)
    assert_slope(mse.backward(prediction, target, scale), lambda at: scale * mse.forward(at, target), prediction)


def test_reductions_by_hand():
    """P-S1, P-P9: what a reduction makes of 2x3 elementwise losses (eqs 17-21)."""
    prediction, target = np.array([[1.0, 2, 3], [4, 5, 6]]), np.array([[1.0, 0, 0], [0, 5, 7]])
    loss = mse.forward(prediction, target)
    np.testing.assert_array_equal(loss, [[0, 4, 9], [16, 0, 1]])
    assert loss.sum() == 30
    assert loss.mean() == 5
    np.testing.assert_array_equal(loss.mean(axis=0), [8, 2, 5])
    np.testing.assert_allclose(loss.mean(axis=1), [13 / 3, 17 / 3])
    np.testing.assert_array_equal(mse.backward(prediction, target, 0.5), [[0, 2, 3], [4, 0, -1]])
