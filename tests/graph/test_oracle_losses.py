"""The oracle of losses: every loss and its hand-written gradient agree with the graph's own gradient of the loss's
formula, in float64.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.graph.differences import kinds_of
from typednn import losses
from typednn.graph.embedding import at_label
from typednn.graph.kinds import Kind
from typednn.graph.losses import bce_with_logits, cosine_similarity, huber, kl_div, l1, mse
from typednn.graph.nodes import binary, realize, tensor, unary
from typednn.graph.operations import Binary, Unary
from typednn.graph.softmax import log_softmax
from typednn.graph.tape import Tape
from typednn.graph.whole import decomposed
from typednn.losses.reduction import REDUCTIONS

pytestmark = pytest.mark.usefixtures("on_the_reference")
TOLERANCE = 1e-6
shapes = st.sampled_from([(3, 2), (1, 1), (2, 3, 4), (4, 5), (2, 1, 3, 2)])


def reduced(each: Any, reduction: str, divisor: Any = None) -> Any:
    """By the table of `typednn.losses.reduction`; ``divisor`` for means over labels."""
    batch, rest = each.shape[0], tuple(range(1, each.ndim))
    if reduction == "none":
        return each
    if reduction == "mean_batch":
        return each.sum(0) / float(batch)
    if reduction == "mean_feature":
        return each.sum(rest) / float(math.prod(each.shape[1:])) if rest else each
    if divisor is not None and reduction in ("mean", "batchmean"):
        return each.sum() / float(divisor * (each.shape[-1] if reduction == "mean" else 1))
    return each.sum() / {"sum": 1.0, "mean": float(each.size), "batchmean": float(batch)}[reduction]


# ------------------------------------------------------------------ formulas of each number: loss, prediction, target


def cross_entropy(loss: Any, p: Any, t: Any) -> Any:
    return -(unary(Unary.LOG, binary(Binary.MAXIMUM, p, loss.eps)) * t)


def bce(loss: Any, p: Any, t: Any) -> Any:
    weight = loss.pos_weight
    return bce_with_logits(p, t, tensor(np.array(weight)) if isinstance(weight, tuple) else weight, "none")


def of_scores(loss: Any, logarithms: Any, t: Any, smoothing: float) -> tuple[Any, Any]:
    """-q·log p of each class, and what a mean divides by."""
    classes = logarithms.shape[-1]
    weight = np.ones(classes) if loss.weight is None else np.array(loss.weight)
    if t.dtype.kind == "f":
        q, divisor = t * (1 - smoothing) + smoothing / classes, float(math.prod(t.shape[:-1]))
    else:
        labels = t.numpy()
        counts = labels != loss.ignore_index
        divisor = (weight[np.where(counts, labels, 0)] * counts).sum() or 1.0
        q = (at_label(t, classes).cast(np.float64) * (1 - smoothing) + smoothing / classes) * tensor(
            counts[..., None].astype(float)
        )
    return -(q * tensor(weight) * logarithms), divisor


FORMULAS: dict[str, Callable[..., Any]] = {
    "MSE": lambda loss, p, t: mse(p, t, "none"),
    "L1": lambda loss, p, t: l1(p, t, "none"),
    "Huber": lambda loss, p, t: huber(p, t, loss.delta, "none"),
    "KLDiv": lambda loss, p, t: kl_div(p, t, loss.log_target, "none"),
    "CosineSimilarity": lambda loss, p, t: 1.0 - cosine_similarity(p, t, -1, loss.eps),
    "CrossEntropy": cross_entropy,
    "BCEWithLogits": bce,
    "SoftmaxCrossEntropy": lambda loss, p, t: of_scores(loss, log_softmax(p), t, loss.label_smoothing),
    "NLL": lambda loss, p, t: of_scores(loss, p, t, 0.0),
}


def cases(reduction: Any, shape: tuple[int, ...], rng: np.random.Generator) -> Iterator[tuple[Any, Any, Any]]:
    """Losses with all their settings, each with a prediction and a target."""
    p, t, classes = rng.normal(size=shape) * 2, rng.normal(size=shape), shape[-1]
    shares, weight = rng.uniform(0.05, 1, shape), list(rng.uniform(0.5, 2, classes))
    yield losses.MSE(reduction), p, t
    yield losses.L1(reduction), p, t
    yield losses.Huber(reduction, delta=0.7), p, t
    yield losses.KLDiv(reduction), -abs(p), shares * (shares > 0.3)
    yield losses.KLDiv(reduction, log_target=True), -abs(p), np.log(shares)
    yield losses.CosineSimilarity(reduction), p, t
    yield losses.BCEWithLogits(reduction), p, shares
    yield losses.BCEWithLogits(reduction, pos_weight=2.5), p, np.round(shares)
    yield losses.BCEWithLogits(reduction, pos_weight=weight), p, shares
    if len(shape) == 2:
        yield losses.CrossEntropy(reduction), shares, rng.uniform(0, 1, shape)
    labels = rng.integers(0, classes, shape[:-1])
    ignored = np.where(rng.random(labels.shape) < 0.4, -7, labels)
    for weights in (None, weight):
        yield losses.NLL(reduction, weight=weights, ignore_index=-7), -abs(p), ignored
        yield losses.NLL(reduction, weight=weights, ignore_index=0), -abs(p), labels
        for smoothing in (0.0, 0.2):
            options: Any = {"weight": weights, "label_smoothing": smoothing}
            yield losses.SoftmaxCrossEntropy(reduction, **options), p, labels
            yield losses.SoftmaxCrossEntropy(reduction, ignore_index=-7, **options), p, ignored
            yield losses.SoftmaxCrossEntropy(reduction, **options), p, shares


@pytest.mark.parametrize("reduction", REDUCTIONS)
@given(shape=shapes, seed=st.integers(0, 99))
def test_value_and_gradient_agree_with_the_graph(reduction: Any, shape: tuple[int, ...], seed: int) -> None:
    """X-D7, Z-F1, Z-F2: every loss, every reduction, every setting, to 1e-6."""
    for loss, prediction, target in cases(reduction, shape, np.random.default_rng(seed)):
        check(loss, prediction, target)


def check(loss: Any, prediction: Any, target: Any) -> None:
    p, t = tensor(prediction), tensor(target)
    with decomposed(), Tape() as tape:
        each = FORMULAS[type(loss).__name__](loss, p, t)
        each, divisor = each if isinstance(each, tuple) else (each, None)
        value = reduced(each, loss.reduction, divisor)
        assert Kind.CUSTOM not in kinds_of(value)
        (gradient,) = tape.gradient(value.sum(), [p], zeros=True)
        realize(value, gradient)
    close = {"rtol": TOLERANCE, "atol": TOLERANCE, "err_msg": repr(loss)}
    np.testing.assert_allclose(loss.loss(prediction, target), value.numpy(), **close)
    np.testing.assert_allclose(loss.loss_grad(prediction, target), gradient.numpy(), **close)
    if hasattr(loss, "loss_and_grad"):
        both = loss.loss_and_grad(prediction, target)
        np.testing.assert_allclose(both[0], value.numpy(), **close)
        np.testing.assert_allclose(both[1], gradient.numpy(), **close)


def test_all_labels_ignored() -> None:
    """Z-F2: the loss and the graph agree that the mean of nothing is 0."""
    for loss in (losses.SoftmaxCrossEntropy(), losses.NLL()):
        check(loss, -np.ones((3, 2)), np.full(3, -100))


def test_every_loss_has_a_formula() -> None:
    """A new loss without a formula, or without a case, fails here."""
    assert set(losses.__all__) == FORMULAS.keys()
    assert {type(loss).__name__ for loss, *_ in cases("mean", (2, 3), np.random.default_rng(0))} == FORMULAS.keys()


@pytest.mark.parametrize("name", FORMULAS)
def test_the_oracle_sees_a_wrong_loss(name: str) -> None:
    """Each formula is spoiled in turn by a thousandth."""
    for loss, prediction, target in cases("sum", (3, 2), np.random.default_rng(0)):
        if type(loss).__name__ == name:
            with pytest.MonkeyPatch.context() as patch:
                formula = FORMULAS[name]

                def spoiled(*given: Any, formula: Any = formula) -> Any:
                    found = formula(*given)
                    return (found[0] * 1.001, found[1]) if isinstance(found, tuple) else found * 1.001

                patch.setitem(FORMULAS, name, spoiled)
                with pytest.raises(AssertionError):
                    check(loss, prediction, target)
