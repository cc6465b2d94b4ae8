"""All arithmetic of layers, losses and optimizers goes through ops: whoever observes them sees where each array comes
from.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from tests.layer_cases import LayerCase
from typednn.arrays import is_array
from typednn.engines import counting, observing, using
from typednn.layers import Linear, ReLU
from typednn.losses import L1, MSE, BCEWithLogits, CosineSimilarity, CrossEntropy, Huber, KLDiv, SoftmaxCrossEntropy
from typednn.optim import SGD, Adam, AdamW, accumulate, clip_grad_norm
from typednn.optim.optimizer import GradientOptimizer

# Layers of the tests, which compute for themselves.
BY_HAND = {"Embedding", "MaskedGate", "MaskedGate without mask"}


def arrays_in(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, tuple):
            yield from arrays_in(value)
        elif is_array(value):
            yield value


class Tracer:
    """Follows arrays from op to op, and keeps them, so that no address is another one's later."""

    def __init__(self, *known: Any) -> None:
        self.known = list(known)

    def knows(self, array: Any) -> bool:
        return any(array is each for each in self.known)

    def __call__(self, ran: Any) -> None:
        self.known += [ran.arguments[place] for place in ran.op.writes]  # an optimizer's own
        for array in arrays_in(ran.arguments):
            assert self.knows(array), f"{ran.op.name} reads an array of shape {array.shape} that no op has made"
        self.known += arrays_in((ran.result,))


@contextmanager
def traced(*known: Any) -> Iterator[Tracer]:
    tracer = Tracer(*known)
    with observing(tracer):
        yield tracer


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_layers(case: LayerCase, engine: str) -> None:
    if case.name in BY_HAND:
        pytest.skip("computes for itself")
    subject = case.subject()
    layer, inputs = subject.ready(), subject.arrays()
    optimizer = SGD(0.1, momentum=0.9)
    with using(engine), traced(*inputs, *layer.parameters()) as tracer:
        y = layer.forward(*inputs)
        assert tracer.knows(y)
        next_grad = subject.next_grad(y)
        tracer.known.append(next_grad)
        grad = layer.backward(next_grad)
        for name, leaf in grad.leaves().items():
            assert tracer.knows(leaf), name
        layer.update(optimizer, grad)
        layer.eval()
        assert tracer.knows(layer.forward(*inputs))


LOSSES = [MSE(), CrossEntropy(), SoftmaxCrossEntropy(), L1(), Huber(), BCEWithLogits(), KLDiv(), CosineSimilarity()]


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_losses(loss: Any, engine: str) -> None:
    rng = np.random.default_rng(0)
    prediction = rng.uniform(0.1, 0.9, (40, 60)).astype(np.float32)
    target = prediction[::-1].copy()
    with using(engine), traced(prediction, target) as tracer:
        assert tracer.knows(loss.loss_grad(prediction, target))
        with counting() as counts:
            loss.loss(prediction, target)
        assert "reduce" in {op for op, _ in counts}


@pytest.mark.parametrize("many", [True, False])
def test_a_shared_parameter_and_what_is_done_to_gradients(many: bool) -> None:
    """The uses of a parameter are summed, gradients are accumulated and scaled, by ops."""
    layer = Linear(3, 3)
    model = (layer >> ReLU() >> layer.shared()).init(np.random.default_rng(0))
    x, next_grad = np.ones((2, 3), np.float32), np.full((2, 3), 0.5, np.float32)
    optimizer: Any = SGD(0.1) if many else OneByOne(SGD(0.1))
    with traced(x, next_grad, *model.parameters()) as tracer:
        model.forward(x)
        grad = clip_grad_norm(accumulate([model.backward(next_grad)] * 2), 1e-3)
        for leaf in [*grad.leaves().values(), *model.gradients(grad)]:
            assert tracer.knows(leaf)
        model.update(optimizer, grad)


class OneByOne:
    """An optimizer around another, without step_many."""

    def __init__(self, optimizer: Any) -> None:
        self.optimizer = optimizer

    def step(self, weights: Any, grad: Any) -> None:
        self.optimizer.step(weights, grad)


class Signs(GradientOptimizer):
    """Its weight decay is done for it."""

    def apply(self, state: Any, grad: Any, lr: float) -> None:
        state.weights -= lr * np.sign(grad)
        self._grad = grad


@pytest.mark.parametrize("make", [SGD, Adam, AdamW, Signs], ids=lambda make: make.__name__)
@pytest.mark.parametrize("decay", [{"l2": 0.1}, {"decay": 0.1}, {"weight_decay": 0.1}], ids=str)
def test_optimizers(make: Any, decay: dict[str, float]) -> None:
    weights, grad = np.ones(3, np.float32), np.full(3, 0.5, np.float32)
    optimizer = make(0.1, **decay)
    before = weights.copy()
    with traced(weights, grad) as tracer:
        optimizer.step(weights, grad)
        if isinstance(optimizer, Signs):
            assert tracer.knows(optimizer._grad)
    assert (weights != before).all()


def test_an_array_that_no_op_has_made_is_seen() -> None:
    layer = Linear(3, 2, rng=np.random.default_rng(0))
    x = np.ones((2, 3), np.float32)
    with traced(*layer.parameters(), x), pytest.raises(AssertionError, match=r"linear\.forward reads an array"):
        layer.forward(x * 2)
