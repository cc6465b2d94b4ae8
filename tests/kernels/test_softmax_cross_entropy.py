"""P-S3: softmax and cross entropy in one."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn.kernels import softmax, softmax_cross_entropy
from typednn.kernels.pointwise_losses import cross_entropy

pytestmark = pytest.mark.usefixtures("on_the_reference")

shapes = st.tuples(st.integers(1, 4), st.integers(1, 5))
seeds = st.integers(0, 2**32 - 1)


@settings(max_examples=40, deadline=None)
@given(shape=shapes, scale=st.floats(0.01, 10), seed=seeds)
def test_softmax_cross_entropy(normal, assert_slope, shape, scale, seed):
    """P-S3: -t·log softmax, for targets of any sum and sign; its slope."""
    logits, target = normal(seed, *shape), normal(seed + 1, *shape)
    expected = [
        [-t * math.log(math.exp(x) / sum(math.exp(other) for other in row)) for x, t in zip(row, wanted, strict=True)]
        for row, wanted in zip(logits, target, strict=True)
    ]
    np.testing.assert_allclose(softmax_cross_entropy.forward(logits, target), expected, rtol=1e-11, atol=1e-14)
    grad = softmax_cross_entropy.backward(logits, target, scale)
    assert_slope(grad, lambda at: scale * softmax_cross_entropy.forward(at, target), logits)


@settings(max_examples=40, deadline=None)
@given(shape=shapes, seed=seeds)
def test_is_the_chain_of_two(normal, shape, seed):
    """P-S3: equal to softmax, then cross entropy on probabilities."""
    logits, target = normal(seed, *shape), softmax.forward(normal(seed + 1, *shape))
    probabilities = softmax.forward(logits)
    np.testing.assert_allclose(
        softmax_cross_entropy.forward(logits, target),
        cross_entropy.forward(probabilities, target, 1e-7),
        rtol=1e-11,
        atol=1e-14,
    )
    chained = softmax.backward(cross_entropy.backward(probabilities, target, 1e-7, 0.5), probabilities)
    np.testing.assert_allclose(softmax_cross_entropy.backward(logits, target, 0.5), chained, rtol=1e-9, atol=1e-12)


def test_golden():
    """Section 6: [[2,3,4],[5,6,7]] against classes 1 and 2."""
    logits = np.array([[2.0, 3, 4], [5, 6, 7]])
    target = softmax_cross_entropy.one_hot(np.array([1, 2]), 3, np.dtype(np.float64), logits)
    np.testing.assert_allclose(
        softmax_cross_entropy.forward(logits, target).sum(axis=1), [1.407606, 0.407606], atol=1e-6
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_far_out_without_warning(dtype):
    """P-S3: ±1e4 stays exact; a logit of -inf costs nothing where the target is 0."""
    logits = np.array([[1e4, -1e4, 0], [0, -np.inf, 0]], dtype=dtype)
    target = np.array([[0, 1, 0], [1, 0, 0]], dtype=dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loss = softmax_cross_entropy.forward(logits, target)
        grad = softmax_cross_entropy.backward(logits, target, 1.0)
    np.testing.assert_allclose(loss, [[0, 2e4, 0], [math.log(2), 0, 0]], rtol=1e-6)
    np.testing.assert_allclose(grad, [[1, -1, 0], [-0.5, 0, 0.5]], rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_hot(dtype):
    """P-S3: 1 at each label, in the dtype asked for; a label outside the classes gives zeros, as documented."""
    labels = np.array([2, 0, 3, -1])
    rows = softmax_cross_entropy.one_hot(labels, 3, np.dtype(dtype), np.zeros(1))
    assert rows.dtype == dtype
    np.testing.assert_array_equal(rows, [[0, 0, 1], [1, 0, 0], [0, 0, 0], [0, 0, 0]])
