"""Several batches count as one: in training, in evaluation, in what is told, and in the function that adds gradients
up.
"""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from typednn import Gradient, Input
from typednn.arrays import Array2
from typednn.data import Loader
from typednn.errors import ArgumentError
from typednn.layers import Identity, Linear, LogSoftmax, Softmax
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
from typednn.optim import SGD, accumulate
from typednn.random import PCG32
from typednn.tasks import Classification
from typednn.training import Callback, Evaluation, fit

ROWS, CLASSES, RATE = 8, 3, 0.1
X: Array2 = np.random.default_rng(0).standard_normal((ROWS, 4), dtype=np.float32)
Labels = np.array([-100, -100, -100, 2, 0, 1, 2, 2], np.int64)
Numbers: Array2 = np.random.default_rng(1).uniform(0.1, 1.0, (ROWS, CLASSES)).astype(np.float32)
Shares: Array2 = Numbers / Numbers.sum(axis=1, keepdims=True)
WEIGHT = (0.5, 2.0, 3.5)

Case = tuple[Callable[[Any], Any], Any]
CASES: dict[str, Case] = {
    "softmax cross entropy, ignored": (lambda r: SoftmaxCrossEntropy(r), Labels),
    "softmax cross entropy, weights": (lambda r: SoftmaxCrossEntropy(r, weight=WEIGHT), Labels),
    "softmax cross entropy, a class ignored": (
        lambda r: SoftmaxCrossEntropy(r, weight=WEIGHT, ignore_index=2),
        np.abs(Labels) % 3,
    ),
    "softmax cross entropy, smoothing": (lambda r: SoftmaxCrossEntropy(r, label_smoothing=0.1), Labels),
    "softmax cross entropy, probabilities": (lambda r: SoftmaxCrossEntropy(r, weight=WEIGHT), Shares),
    "nll, ignored": (lambda r: NLL(r), Labels),
    "nll, weights": (lambda r: NLL(r, weight=WEIGHT), Labels),
    "mse": (lambda r: MSE(r), Numbers),
    "l1": (lambda r: L1(r), Numbers),
    "huber": (lambda r: Huber(r), Numbers),
    "bce": (lambda r: BCEWithLogits(r, pos_weight=WEIGHT), Numbers),
    "cross entropy": (lambda r: CrossEntropy(r), Shares),
    "kl": (lambda r: KLDiv(r), Shares),
    "cosine": (lambda r: CosineSimilarity(r), Numbers),
}
REDUCTIONS = ("batchmean", "mean", "sum")
SPLITS = ((4, 4), (3, 5), (1, 6, 1), (7, 1))


class Told(Callback):
    """Keeps the loss of each step."""

    def __init__(self) -> None:
        self.losses: list[float] = []

    def on_step(self, step: Any) -> None:
        self.losses.append(step.loss)


class Split:
    """The rows as batches of these sizes, in order."""

    def __init__(self, y: Any, sizes: tuple[int, ...]) -> None:
        ends = np.cumsum((0, *sizes))
        self.pairs = [(X[start:end], y[start:end]) for start, end in pairwise(ends)]
        self.steps_per_epoch, self.epoch, self.step = len(sizes), 0, 0

    def batches(self) -> Any:
        for x, y in self.pairs:
            self.step += 1
            yield type("Batch", (), {"x": x, "y": y})
        self.epoch, self.step = self.epoch + 1, 0

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None: ...


def _model(loss: Any = None) -> Any:
    """A layer, and what the loss reads after it."""
    end: Any = {NLL: LogSoftmax, CrossEntropy: Softmax}.get(type(loss), Identity)()
    return (Input(4) >> Linear(4, CLASSES) >> end).init(PCG32(3))


def _whole(loss: Any, y: Any) -> tuple[float, Any]:
    """The loss of all rows, and the weights after one step on them, by hand."""
    model = _model(loss)
    scores = model.forward(X)
    value = loss.loss(scores, y)
    model.update(SGD(RATE), model.backward(loss.loss_grad(scores, y)))
    return value, model.parameters()


@pytest.mark.parametrize("sizes", SPLITS, ids=str)
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("case", CASES)
def test_batches_count_as_one(case: str, reduction: str, sizes: tuple[int, ...]) -> None:
    """``accumulate`` of fit and of optim, the loss of the step, of the epoch and of an evaluation: those of one batch
    of all rows.
    """
    make, y = CASES[case]
    loss = make(reduction)
    value, weights = _whole(loss, y)
    trained = _model(loss)
    told = Told()
    history = fit(
        trained, loss, SGD(RATE), Split(y, sizes), epochs=1, accumulate=len(sizes), progress=False, callbacks=told
    )
    for mine, its in zip(trained.parameters(), weights, strict=True):
        np.testing.assert_allclose(mine, its, rtol=2e-6, atol=2e-6)
    assert [*told.losses, *history.losses] == pytest.approx([value, value], rel=1e-6)

    model = _model(loss)
    pairs = [(model.forward(x), part) for x, part in Split(y, sizes).pairs]
    grads: list[Gradient] = []
    for x, part in Split(y, sizes).pairs:
        grads.append(model.backward(loss.loss_grad(model.forward(x), part)))
    model.update(SGD(RATE), accumulate(grads, [loss.divisor(scores, part) for scores, part in pairs]))
    for mine, its in zip(model.parameters(), weights, strict=True):
        np.testing.assert_allclose(mine, its, rtol=2e-6, atol=2e-6)

    measured, _ = Evaluation(X, y, batch_size=sizes[0]).measure(_model(loss), loss, Classification())
    assert measured == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("case", [name for name, (_, y) in CASES.items() if y.dtype == np.int64])
def test_an_epoch_of_single_steps_weighs_what_counts(case: str) -> None:
    """At a rate of 0 each batch has the same weights, and the epoch's loss is that of all rows; a batch may have
    nothing that counts.
    """
    make, y = CASES[case]
    loss = make("batchmean")
    history = fit(_model(loss), loss, SGD(0.0), Split(y, (3, 5)), epochs=1, progress=False)
    assert history.losses == pytest.approx([_whole(loss, y)[0]], rel=1e-6)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_where_nothing_counts_nothing_moves(reduction: Any) -> None:
    ignored = np.full(ROWS, -100)
    model, before = _model(), _model()
    history = fit(
        model, SoftmaxCrossEntropy(reduction), SGD(1.0), Split(ignored, (4, 4)), epochs=1, accumulate=2, progress=False
    )
    assert history.losses == [0.0]
    for mine, its in zip(model.parameters(), before.parameters(), strict=True):
        np.testing.assert_array_equal(mine, its)


class OfFirst:
    """A loss that only the first column of targets enters, with weights of the rows in the second: Σ w e² / Σ w."""

    def loss(self, prediction: Any, target: Any) -> float:
        return float((target[:, 1] * (prediction[:, 0] - target[:, 0]) ** 2).sum() / target[:, 1].sum())

    def loss_grad(self, prediction: Any, target: Any) -> Any:
        grad = np.zeros_like(prediction)
        grad[:, 0] = 2 * target[:, 1] * (prediction[:, 0] - target[:, 0]) / target[:, 1].sum()
        return grad

    def divisor(self, prediction: Any, target: Any) -> float:
        return float(target[:, 1].sum())


def test_a_loss_of_your_own_tells_its_divisor() -> None:
    value, weights = _whole(OfFirst(), Numbers)
    model = _model()
    history = fit(model, OfFirst(), SGD(RATE), Split(Numbers, (3, 5)), epochs=1, accumulate=2, progress=False)
    assert history.losses == pytest.approx([value], rel=1e-6)
    for mine, its in zip(model.parameters(), weights, strict=True):
        np.testing.assert_allclose(mine, its, rtol=2e-6, atol=2e-6)


def test_divisors_are_checked() -> None:
    model = _model()
    grad = model.backward(model.forward(X))
    for divisors, message in (([1.0], "divisors has one for each gradient, 2, got 1"), ([1.0, -1.0], "each divisor")):
        with pytest.raises(ArgumentError, match=message):
            accumulate([grad, grad], divisors)
    assert math.isclose(accumulate([grad, grad], [3, 1]).norm(), grad.norm(), rel_tol=1e-6)
    assert math.isclose(accumulate([grad, grad], [None, None]).norm(), 2 * grad.norm(), rel_tol=1e-6)


@pytest.mark.parity
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weights"])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_as_pytorch_on_one_batch(reduction: Any, weight: Any) -> None:
    """PyTorch's step on the whole batch, whose loss ignores three labels of the first of ours."""
    import torch

    model = _model()
    theirs = [torch.tensor(each, requires_grad=True) for each in model.parameters()]
    made = torch.nn.CrossEntropyLoss(reduction=reduction, weight=None if weight is None else torch.tensor(weight))
    value: Any = made(torch.tensor(X) @ theirs[0].T + theirs[1], torch.tensor(Labels))
    value.backward()
    loss = SoftmaxCrossEntropy("batchmean" if reduction == "mean" else "sum", weight=weight)
    loader = Loader(X, Labels, batch_size=4, shuffle=False)
    history = fit(model, loss, SGD(RATE), loader, epochs=1, accumulate=2, progress=False)
    assert history.losses == pytest.approx([value.item()], rel=1e-6)
    for mine, its in zip(model.parameters(), theirs, strict=True):
        np.testing.assert_allclose(mine, (its - RATE * its.grad).detach().numpy(), rtol=2e-6, atol=2e-6)
