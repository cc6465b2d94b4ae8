"""Every loss gives PyTorch's value and PyTorch's gradient."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from typednn.losses import (
    L1,
    MSE,
    NLL,
    BCEWithLogits,
    CosineSimilarity,
    CrossEntropy,
    Huber,
    KLDiv,
    SoftmaxCrossEntropy,
)
from typednn.losses.sample_weights import SampleWeighted

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
    # Before they are divided by alpha, the gradient's terms are of size 1; what their difference leaves may be far
    # smaller.
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
def test_cross_entropy_on_probabilities(
    peer: Any, close: Any, dtype: Any, reduction: Any, batch: int, classes: int, seed: int
) -> None:
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
@given(
    batch=batches,
    classes=widths,
    total=st.sampled_from([1.0, 0.25, 3.0]),
    scale=st.sampled_from([1e-2, 1.0, 30.0]),
    seed=seeds,
)
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


LEADING = st.sampled_from([(7,), (3, 4), (2, 3, 2)])
SETTINGS = st.fixed_dictionaries(
    {
        "weighted": st.booleans(),
        "ignore_index": st.sampled_from([-100, 2]),
        "label_smoothing": st.sampled_from([0.0, 0.1, 0.6]),
    }
)


def classes_second(array: Any) -> Any:
    """As PyTorch has its scores: the classes after the batch."""
    return array.movedim(-1, 1).contiguous()


@hard
@given(leading=LEADING, settings=SETTINGS, soft=st.booleans(), seed=seeds)
@pytest.mark.parametrize("reduction", SCORES)
def test_softmax_cross_entropy_with_weights_an_ignored_label_and_smoothing(
    peer: Any,
    close: Any,
    dtype: Any,
    reduction: Any,
    leading: tuple[int, ...],
    settings: dict[str, Any],
    soft: bool,
    seed: int,
) -> None:
    """G-L6, Z-F2: of samples, sequences and images; of labels and of probabilities."""
    generator = np.random.default_rng(seed)
    scores, labels = generator.standard_normal((*leading, 5)).astype(dtype), generator.integers(0, 5, leading)
    labels.flat[0] = 1  # so that one counts
    labels.flat[1:3] = settings["ignore_index"]
    target: Any = generator.dirichlet(np.ones(5), leading).astype(dtype) if soft else labels
    weight = generator.uniform(0.2, 2, 5).astype(dtype) if settings["weighted"] else None
    more: dict[str, Any] = {name: settings[name] for name in ("ignore_index", "label_smoothing")}
    leaf = peer.tensor(scores, learnt=True)
    value = peer.torch.nn.functional.cross_entropy(
        classes_second(leaf),
        classes_second(peer.tensor(target)) if soft else peer.tensor(target),
        weight=None if weight is None else peer.tensor(weight),
        reduction=SCORES[reduction],
        **({"label_smoothing": more["label_smoothing"]} if soft else more),
    )
    check(leaf, close, SoftmaxCrossEntropy(reduction, weight=weight, **more), scores, target, value)
    if not soft:
        leaf, logs = peer.tensor(scores, learnt=True), scores
        value = peer.torch.nn.functional.nll_loss(
            classes_second(leaf),
            peer.tensor(target),
            weight=None if weight is None else peer.tensor(weight),
            reduction=SCORES[reduction],
            ignore_index=more["ignore_index"],
        )
        check(leaf, close, NLL(reduction, weight=weight, ignore_index=more["ignore_index"]), logs, target, value)


def test_where_all_is_ignored_pytorch_has_no_number(peer: Any) -> None:
    """The only difference: ours is 0."""
    scores, labels = np.ones((2, 3), np.float32), np.array([-100, -100])
    assert peer.torch.nn.functional.cross_entropy(peer.tensor(scores), peer.tensor(labels)).isnan()
    assert SoftmaxCrossEntropy().loss(scores, labels) == 0


def against(functional: Any, reduction: str, *arguments: Any, **more: Any) -> Any:
    """PyTorch's own reduction where it has one, else its elements reduced."""
    if reduction in ("mean", "sum", "none"):
        return functional(*arguments, reduction=reduction, **more)
    return REDUCTIONS[reduction](functional(*arguments, reduction="none", **more))


# KLDivLoss warns of its default
mean_of_all = pytest.mark.filterwarnings("ignore:reduction. 'mean' divides:UserWarning")


@mean_of_all
@hard
@given(shape=st.lists(st.integers(1, 5), min_size=2, max_size=4).map(tuple), seed=seeds)
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_pointwise_losses(peer: Any, close: Any, dtype: Any, reduction: Any, shape: tuple[int, ...], seed: int) -> None:
    """nn.functional's, for each reduction; the weight of each class is the last axis'."""
    generator, nn = np.random.default_rng(seed), peer.torch.nn.functional
    prediction, target = (2 * generator.standard_normal(shape).astype(dtype) for _ in range(2))
    shares, weight = generator.uniform(0, 1, shape).astype(dtype), generator.uniform(0.2, 3, shape[-1]).astype(dtype)
    shares.flat[0] = 0
    logs = np.log(generator.uniform(0.1, 1, shape)).astype(dtype)
    one = {"pos_weight": peer.tensor(np.array(2.5, dtype))}
    for loss, x, t, functional, more in (
        (L1(reduction), prediction, target, nn.l1_loss, {}),
        (Huber(reduction, delta=0.7), prediction, target, nn.huber_loss, {"delta": 0.7}),
        (Huber(reduction), prediction, target, nn.smooth_l1_loss, {}),
        (BCEWithLogits(reduction), prediction, shares, nn.binary_cross_entropy_with_logits, {}),
        (BCEWithLogits(reduction, pos_weight=2.5), prediction, shares, nn.binary_cross_entropy_with_logits, one),
        (
            BCEWithLogits(reduction, pos_weight=weight),
            prediction,
            shares,
            nn.binary_cross_entropy_with_logits,
            {"pos_weight": peer.tensor(weight)},
        ),
        (KLDiv(reduction), prediction, shares, nn.kl_div, {}),
        (KLDiv(reduction, log_target=True), prediction, logs, nn.kl_div, {"log_target": True}),
    ):
        leaf = peer.tensor(x, learnt=True)
        check(leaf, close, loss, x, t, against(functional, reduction, leaf, peer.tensor(t), **more))


def test_where_they_are_equal_the_derivative_is_zero(peer: Any) -> None:
    """As PyTorch's, at the kink of L1; and at those of Huber, which has none."""
    x, t = np.array([[1.0, 2.0, 3.0]]), np.array([[1.0, 1.0, 4.0]])
    for loss, functional in (
        (L1("sum"), peer.torch.nn.functional.l1_loss),
        (Huber("sum"), peer.torch.nn.functional.huber_loss),
    ):
        leaf = peer.tensor(x, learnt=True)
        functional(leaf, peer.tensor(t), reduction="sum").backward()
        np.testing.assert_array_equal(loss.loss_grad(x, t), leaf.grad.numpy())


@hard
@given(leading=LEADING, features=st.integers(1, 6), seed=seeds)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cosine_similarity(
    peer: Any, close: Any, dtype: Any, reduction: Any, leading: tuple[int, ...], features: int, seed: int
) -> None:
    """1 - nn.functional.cosine_similarity, and nn.functional.cosine_embedding_loss of rows of the same kind."""
    generator = np.random.default_rng(seed)
    # Not too short: the derivative grows with 1 over the length.
    x, t = (
        generator.uniform(0.3, 2, (*leading, features)).astype(dtype) * generator.choice([-1, 1], (*leading, features))
        for _ in range(2)
    )
    x, t, nn = x.astype(dtype), t.astype(dtype), peer.torch.nn.functional
    leaf = peer.tensor(x, learnt=True)
    expected = REDUCTIONS[reduction](1 - nn.cosine_similarity(leaf, peer.tensor(t), dim=-1))
    loss = CosineSimilarity(reduction)
    close(np.asarray(loss.loss(x, t), dtype), expected.detach().numpy(), "value")
    expected.sum().backward()
    alpha = ALPHAS[reduction](x.shape[:-1])
    close(loss.loss_grad(x, t) * alpha, leaf.grad.numpy() * alpha, "gradient")
    rows, others = x.reshape(-1, features), t.reshape(-1, features)
    embedded = nn.cosine_embedding_loss(
        peer.tensor(rows), peer.tensor(others), peer.torch.ones(len(rows)), reduction=reduction
    )
    # it adds 1e-12 to squared lengths
    np.testing.assert_allclose(loss.loss(rows, others), embedded.numpy(), rtol=1e-6, atol=1e-6)


def test_softmax_cross_entropy_without_reduction_is_per_class(peer: Any, close: Any, dtype: Any) -> None:
    """PyTorch adds the classes up, typednn leaves them apart; the sums are equal."""
    generator = np.random.default_rng(3)
    scores = generator.standard_normal((5, 4)).astype(dtype)
    target = generator.integers(0, 4, 5)
    expected = peer.torch.nn.functional.cross_entropy(
        peer.tensor(scores), peer.tensor(target), reduction="none"
    ).numpy()
    close(SoftmaxCrossEntropy("none").loss(scores, target).sum(axis=1), expected, "values")


@mean_of_all
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
    for ours, theirs in ((L1(), nn.L1Loss()), (Huber(), nn.HuberLoss()), (BCEWithLogits(), nn.BCEWithLogitsLoss())):
        close(
            np.asarray(ours.loss(scores, other), dtype),
            theirs(peer.tensor(scores), peer.tensor(other)).numpy(),
            repr(ours),
        )
    shares = abs(other)
    close(
        np.asarray(KLDiv().loss(scores, shares), dtype),
        nn.KLDivLoss()(peer.tensor(scores), peer.tensor(shares)).numpy(),
        "KL",
    )
    close(
        np.asarray(NLL().loss(scores, labels), dtype),
        nn.NLLLoss()(peer.tensor(scores), peer.tensor(labels)).numpy(),
        "NLL",
    )
    close(
        np.asarray(MSE().loss(scores, other), dtype),
        nn.MSELoss()(peer.tensor(scores), peer.tensor(other)).numpy(),
        "MSE",
    )


@hard
@given(batch=batches, seed=seeds, label_smoothing=st.sampled_from([0.0, 0.2]), weighted=st.booleans())
def test_weights_of_samples(
    peer: Any, close: Any, dtype: Any, batch: int, seed: int, label_smoothing: float, weighted: bool
) -> None:
    """PyTorch has them by hand: the losses of each sample times its weight, divided by the sum of what each counts."""
    generator = np.random.default_rng(seed)
    scores, labels = generator.standard_normal((batch, 5)).astype(dtype), generator.integers(0, 5, batch)
    own, classes = generator.uniform(0.1, 3, batch), generator.uniform(0.2, 2, 5).astype(dtype)
    settings: dict[str, Any] = {"label_smoothing": label_smoothing}
    weight = peer.tensor(classes) if weighted else None
    leaf = peer.tensor(scores, learnt=True)
    each = peer.torch.nn.functional.cross_entropy(
        leaf, peer.tensor(labels), weight=weight, reduction="none", **settings
    )
    counts = peer.tensor((own * (classes[labels] if weighted else 1.0)).astype(dtype))
    value = (each * peer.tensor(own.astype(dtype))).sum() / counts.sum()
    value.backward()
    ours = SampleWeighted(SoftmaxCrossEntropy(weight=classes if weighted else None, **settings), own)
    close(np.asarray(ours.loss(scores, labels), dtype), value.detach().numpy(), "value")
    close(ours.loss_grad(scores, labels) * batch, leaf.grad.numpy() * batch, "gradient")
