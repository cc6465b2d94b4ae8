"""Every loss gives PyTorch's value and PyTorch's gradient."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from typednn.losses import MSE, CrossEntropy, SoftmaxCrossEntropy

pytestmark = pytest.mark.parity

# The fixture `dtype` is the same for all examples of one test, as it should be.
hard = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])

batches, widths = st.integers(1, 8), st.integers(1, 12)
seeds = st.integers(0, 2**32 - 1)


def check(leaf: Any, close: Any, loss: Any, prediction: Any, target: Any, value: Any) -> None:
    """``loss`` against ``value``, PyTorch's; the gradient of several values is that of their sum.

    typednn adds up in float64 and PyTorch in the dtype at hand, so the value is compared in the latter.
    """
    ours = loss.loss(prediction, target)
    close(np.asarray(ours, prediction.dtype), value.detach().numpy(), "value")
    value.sum().backward()
    # Before they are divided by alpha, the gradient's terms are of size 1; what their difference leaves may be far smaller.
    alpha = ALPHAS[loss.reduction](prediction.shape)
    close(loss.loss_grad(prediction, target) * alpha, leaf.grad.numpy() * alpha, "gradient")


REDUCTIONS = {
    "mean": lambda losses: losses.mean(),
    "sum": lambda losses: losses.sum(),
    "none": lambda losses: losses,
    "mean_batch": lambda losses: losses.mean(0),
    "mean_feature": lambda losses: losses.flatten(1).mean(1),
    "batchmean": lambda losses: losses.sum() / losses.shape[0],
}
ALPHAS = {
    "mean": lambda shape: math.prod(shape),
    "sum": lambda shape: 1,
    "none": lambda shape: 1,
    "mean_batch": lambda shape: shape[0],
    "mean_feature": lambda shape: math.prod(shape[1:]),
    "batchmean": lambda shape: shape[0],
}


@hard
@given(shape=st.lists(st.integers(1, 5), min_size=2, max_size=4).map(tuple), seed=seeds)
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_mse(peer: Any, close: Any, dtype: Any, reduction: Any, shape: tuple[int, ...], seed: int) -> None:
    """P-S1: nn.functional.mse_loss for its own three reductions, its elements reduced for the others."""
    generator = np.random.default_rng(seed)
    prediction, target = (generator.standard_normal(shape).astype(dtype) for _ in range(2))
    leaf = peer.tensor(prediction, learnt=True)
    functional = peer.torch.nn.functional.mse_loss
    if reduction in ("mean", "sum", "none"):
        value = functional(leaf, peer.tensor(target), reduction=reduction)
    else:
        value = REDUCTIONS[reduction](functional(leaf, peer.tensor(target), reduction="none"))
    check(leaf, close, MSE(reduction), prediction, target, value)


@hard
@given(batch=batches, classes=widths, seed=seeds)
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_cross_entropy_on_probabilities(peer: Any, close: Any, dtype: Any, reduction: Any, batch: int, classes: int, seed: int) -> None:
    """P-S2, against the formula in PyTorch's words."""
    generator = np.random.default_rng(seed)
    prediction = generator.uniform(0.05, 1.0, (batch, classes)).astype(dtype)
    target = generator.dirichlet(np.ones(classes), batch).astype(dtype)
    leaf = peer.tensor(prediction, learnt=True)
    value = REDUCTIONS[reduction](-leaf.clamp(min=1e-7).log() * peer.tensor(target))
    check(leaf, close, CrossEntropy(reduction), prediction, target, value)


def test_cross_entropy_below_eps(peer: Any, close: Any, dtype: Any) -> None:
    """P-S2: the value is that of the clamped formula; the gradient is not, as clamp stops it and the paper goes on."""
    prediction, target = np.array([[0.0, 1e-9, 1.0]], dtype), np.array([[1.0, 0.5, 0.25]], dtype)
    expected = -peer.tensor(prediction).clamp(min=1e-7).log() * peer.tensor(target)
    close(CrossEntropy("none").loss(prediction, target), expected.numpy(), "value")
    leaf = peer.tensor(prediction, learnt=True)
    (-leaf.clamp(min=1e-7).log() * peer.tensor(target)).sum().backward()
    assert leaf.grad.tolist() == [[0.0, 0.0, -0.25]]
    np.testing.assert_allclose(CrossEntropy("sum").loss_grad(prediction, target), [[-1e7, -5e6, -0.25]], rtol=1e-6)


# typednn's name, PyTorch's: "mean" of nn.CrossEntropyLoss divides by the samples.
SCORES = {"batchmean": "mean", "sum": "sum"}


@hard
@given(batch=batches, classes=widths, scale=st.sampled_from([1e-2, 1.0, 30.0, 1e4]), seed=seeds)
@pytest.mark.parametrize("labels", [np.int64, np.int32, np.uint8], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("reduction", SCORES)
def test_softmax_cross_entropy_of_labels(
    peer: Any, close: Any, dtype: Any, reduction: Any, labels: Any, batch: int, classes: int, scale: float, seed: int
) -> None:
    """P-S3, from labels: the gradient is softmax - one_hot, over the samples."""
    generator = np.random.default_rng(seed)
    scores = (scale * generator.standard_normal((batch, classes))).astype(dtype)
    target = generator.integers(0, classes, batch).astype(labels)
    leaf = peer.tensor(scores, learnt=True)
    value = peer.torch.nn.functional.cross_entropy(leaf, peer.tensor(target).long(), reduction=SCORES[reduction])
    check(leaf, close, SoftmaxCrossEntropy(reduction), scores, target, value)


@hard
@given(batch=batches, classes=widths, total=st.sampled_from([1.0, 0.25, 3.0]), scale=st.sampled_from([1e-2, 1.0, 30.0]), seed=seeds)
@pytest.mark.parametrize("reduction", SCORES)
def test_softmax_cross_entropy_of_soft_targets(
    peer: Any, close: Any, dtype: Any, reduction: Any, batch: int, classes: int, total: float, scale: float, seed: int
) -> None:
    """P-S3, also for targets that do not sum to one."""
    generator = np.random.default_rng(seed)
    scores = (scale * generator.standard_normal((batch, classes))).astype(dtype)
    target = (total * generator.dirichlet(np.ones(classes), batch)).astype(dtype)
    leaf = peer.tensor(scores, learnt=True)
    value = peer.torch.nn.functional.cross_entropy(leaf, peer.tensor(target), reduction=SCORES[reduction])
    check(leaf, close, SoftmaxCrossEntropy(reduction), scores, target, value)


def test_softmax_cross_entropy_without_reduction_is_per_class(peer: Any, close: Any, dtype: Any) -> None:
    """PyTorch adds the classes up, typednn leaves them apart; the sums are equal."""
    generator = np.random.default_rng(3)
    scores = generator.standard_normal((5, 4)).astype(dtype)
    target = generator.integers(0, 4, 5)
    expected = peer.torch.nn.functional.cross_entropy(peer.tensor(scores), peer.tensor(target), reduction="none").numpy()
    close(SoftmaxCrossEntropy("none").loss(scores, target).sum(axis=1), expected, "values")


def test_defaults_are_pytorchs_means(peer: Any, close: Any, dtype: Any) -> None:
    generator = np.random.default_rng(4)
    scores = generator.standard_normal((5, 4)).astype(dtype)
    labels = generator.integers(0, 4, 5)
    other = generator.standard_normal((5, 4)).astype(dtype)
    nn = peer.torch.nn
    close(
        np.asarray(SoftmaxCrossEntropy().loss(scores, labels), dtype),
        nn.CrossEntropyLoss()(peer.tensor(scores), peer.tensor(labels)).numpy(),
        "cross entropy",
    )
    close(np.asarray(MSE().loss(scores, other), dtype), nn.MSELoss()(peer.tensor(scores), peer.tensor(other)).numpy(), "MSE")
