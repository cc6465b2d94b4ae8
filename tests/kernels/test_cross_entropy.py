"""P-S2, P-S3: cross entropy of probabilities."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn.kernels import softmax
from typednn.kernels.pointwise_losses import cross_entropy

pytestmark = pytest.mark.usefixtures("on_the_reference")

shapes = st.tuples(st.integers(1, 4), st.integers(1, 5))
seeds = st.integers(0, 2**32 - 1)
EPS = 1e-7


@settings(max_examples=40, deadline=None)
@given(shape=shapes, scale=st.floats(0.01, 10), seed=seeds)
def test_cross_entropy(normal, assert_slope, shape, scale, seed):
    """P-S2: -log(max(p, eps))·t (eq 42); the gradient keeps t (eq 43); soft targets."""
    # The differences' error grows with (step / p)²: no p is below 0.02.
    prediction, target = 0.02 + 0.9 * softmax.forward(normal(seed, *shape)), softmax.forward(normal(seed + 1, *shape))
    expected = np.array([-math.log(p) * t for p, t in zip(prediction.ravel(), target.ravel(), strict=True)]).reshape(
        shape
    )
    np.testing.assert_allclose(cross_entropy.forward(prediction, target, EPS), expected, rtol=1e-13)
    grad = cross_entropy.backward(prediction, target, EPS, scale)
    assert_slope(grad, lambda at: scale * cross_entropy.forward(at, target, EPS), prediction)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_certain_and_wrong(dtype):
    """P-S2: p = 0, t = 1 -> loss 16.118, gradient -1e7; below eps the gradient stays -t/eps."""
    prediction, target = np.array([[0.0, 1e-9, 1.0]], dtype=dtype), np.array([[1.0, 0.5, 0.0]], dtype=dtype)
    np.testing.assert_allclose(
        cross_entropy.forward(prediction, target, EPS), [[16.11809565, 8.05904783, 0]], rtol=1e-6
    )
    np.testing.assert_allclose(cross_entropy.backward(prediction, target, EPS, 1.0), [[-1e7, -5e6, 0]], rtol=1e-6)


def test_golden_start_and_floor():
    """Section 6: mean over ten equal classes ln(10)/10; the floor of 0.91/0.01 targets."""
    even, smooth = np.full((1, 10), 0.1), np.full((1, 10), 0.01)
    smooth[0, 3] = 0.91
    assert cross_entropy.forward(even, smooth, EPS).mean() == pytest.approx(0.2302585, abs=1e-7)
    assert cross_entropy.forward(smooth, smooth, EPS).mean() == pytest.approx(0.0500288, abs=1e-7)
    assert cross_entropy.forward(smooth, smooth, EPS).sum() == pytest.approx(0.5002880, abs=1e-7)


@settings(max_examples=40, deadline=None)
@given(shape=shapes, seed=seeds)
def test_through_softmax(normal, shape, seed):
    """P-S3: for targets that sum to 1 the gradient by the logits is (p - t)·scale."""
    prediction, target = softmax.forward(normal(seed, *shape)), softmax.forward(normal(seed + 1, *shape))
    chained = softmax.backward(cross_entropy.backward(prediction, target, EPS, 0.25), prediction)
    np.testing.assert_allclose(chained, (prediction - target) * 0.25, rtol=1e-9, atol=1e-12)
