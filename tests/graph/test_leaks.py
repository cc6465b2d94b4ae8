"""After training, and after errors in the midst of it, the graph is as it was: no node, no array, no
open tape stays.
"""

import gc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pytest
from jaxtyping import Float

from typednn import Array2, Gradient, GraphLayer, GraphLoss, Parameter, S
from typednn.engines import using
from typednn.errors import ArgumentError, OutOfMemory, ShapeError, StateError
from typednn.graph import Function, Tape, counters, linear, realize, relu, softmax_cross_entropy, tensor
from typednn.graph.graph import GRAPH
from typednn.graph.tensor import AnyTensor, Tensor0, Tensor2
from typednn.optim import SGD

STEPS = 200


@pytest.fixture(autouse=True)
def baseline() -> Iterator[None]:
    """Each test leaves as many nodes, bytes and tapes as it found."""
    gc.collect()
    before = len(GRAPH), counters().bytes_held, GRAPH.tapes, len(GRAPH.extras), len(GRAPH.names)
    with using("reference"):
        yield
    gc.collect()
    assert (len(GRAPH), counters().bytes_held, GRAPH.tapes, len(GRAPH.extras), len(GRAPH.names)) == before


def numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@final
@dataclass(frozen=True, slots=True)
class NetGrad(Gradient):
    input: Float[Array2, "batch in_features"]
    weight1: Float[Array2, "hidden in_features"]
    weight2: Float[Array2, "out_features hidden"]


class Net(GraphLayer[Array2, Array2, NetGrad, S]):
    """Two affine maps."""

    weight1: Parameter[Float[Array2, "5 4"]]
    weight2: Parameter[Float[Array2, "3 5"]]

    def formula(self, x: Float[Tensor2, "batch 4"]) -> Float[Tensor2, "batch 3"]:
        return linear(relu(linear(x, tensor(self.weight1))), tensor(self.weight2))


@final
class SquaredError(GraphLoss[Array2, Array2]):
    """The mean of (prediction - target)²."""

    def formula(self, prediction: Float[Tensor2, "batch n"], target: Float[Tensor2, "batch n"]) -> Float[Tensor0, ""]:
        return ((prediction - target) ** 2).mean()


def test_training_of_a_formula() -> None:
    """X-D11: 200 steps, with batches of three sizes; the first step's arrays are all that the layer holds."""
    model: Any = Net().init(np.random.default_rng(0))
    optimizer, losses = SGD(0.05), []
    nodes, held = len(GRAPH), counters().bytes_held
    for step in range(STEPS):
        batch = (8, 8, 3)[step % 3]
        value, next_grad = SquaredError().loss_and_grad(model.forward(numbers(batch, 4)), numbers(batch, 3, seed=1))
        gradient = model.backward(next_grad)
        if step % 5 == 0:
            assert gradient.input.shape == (batch, 4)
        model.update(optimizer, gradient)
        losses.append(value)
        assert (len(GRAPH), counters().bytes_held) == (nodes, held)
    assert np.mean(losses[-3:]) < 0.8 * np.mean(losses[:3])


def test_training_by_tensors() -> None:
    """X-D11: 200 steps of a tape each; then the graph holds the parameters, and without them nothing."""
    x, labels = numbers(8, 4), np.arange(8) % 3
    parameters: list[AnyTensor] = [tensor(numbers(5, 4)), tensor(numbers(3, 5, seed=1))]
    held = counters().bytes_held
    nodes = len(GRAPH)
    losses = list[float]()
    for _ in range(STEPS):
        with Tape() as tape:
            loss = softmax_cross_entropy(linear(relu(linear(tensor(x), parameters[0])), parameters[1]), tensor(labels))
            gradients = tape.gradient(loss, parameters, zeros=True)
            updated = [each - gradient * 0.1 for each, gradient in zip(parameters, gradients, strict=True)]
        realize(loss, *updated)
        losses.append(loss.item())
        parameters = updated
        del loss, gradients, updated
        assert (len(GRAPH), counters().bytes_held) == (nodes, held)
    assert losses[-1] < losses[0]


class Fails(Function):
    """Computes nothing."""

    def forward(self, *arrays: Any) -> Any:
        raise OutOfMemory("Fails: no room")


class Endless(Function):
    """Has no derivative."""

    def forward(self, *arrays: Any) -> Any:
        return arrays[0]


def raised(x: AnyTensor) -> AnyTensor:
    raise ZeroDivisionError(repr(x * 2.0))


ERRORS: dict[str, tuple[Callable[[AnyTensor], Any], type[Exception]]] = {
    "sizes": (lambda x: relu(x) + tensor(numbers(7)), ShapeError),
    "an error of its own": (lambda x: raised(relu(x)), ZeroDivisionError),
    "a number is asked for": (lambda x: x * relu(x).sum().item(), StateError),
    "no tensor": (lambda x: [relu(x)], ArgumentError),
    "a result of another shape": (lambda x: relu(x).sum(), ShapeError),
    "no derivative": (lambda x: Endless()(relu(x)), ArgumentError),
    "while it is computed": (lambda x: relu(x) * Fails()(relu(x)).sum(), ArgumentError),
}


@pytest.mark.parametrize(("body", "error"), ERRORS.values(), ids=ERRORS)
def test_errors_in_a_formula(body: Callable[[AnyTensor], Any], error: type[Exception]) -> None:
    """And the layer computes again as soon as it can."""
    broken = [True]

    class Broken(GraphLayer[Array2, Array2, NetGrad, S]):
        weight1: Parameter[Float[Array2, "5 4"]]
        weight2: Parameter[Float[Array2, "3 5"]]

        def formula(self, x: Float[Tensor2, "batch 4"]) -> Float[Tensor2, "batch 3"]:
            y = linear(relu(linear(x, tensor(self.weight1))), tensor(self.weight2))
            found: Any = body(y) if broken[0] else y
            return found  # type: ignore[no-any-return]

    model: Any = Broken().init(np.random.default_rng(0))
    for _ in range(3):
        with pytest.raises(error):
            model.backward(model.forward(numbers(2, 4)))
        assert GRAPH.tapes == 0
        assert GRAPH.recorded is None
    broken[0] = False
    sound: Any = Net()
    sound.load_state_dict(model.state_dict())
    assert np.array_equal(model.forward(numbers(3, 4)), sound.forward(numbers(3, 4)))


def test_an_error_while_a_formula_is_computed() -> None:
    """In eval, where no derivative is asked for before."""
    model: Any = FailsLater().init(np.random.default_rng(0)).eval()
    for _ in range(3):
        with pytest.raises(OutOfMemory, match="no room"):
            model.forward(numbers(2, 4))


class FailsLater(GraphLayer[Array2, Array2, NetGrad, S]):
    """Is recorded, and can't be computed."""

    weight1: Parameter[Float[Array2, "5 4"]]
    weight2: Parameter[Float[Array2, "3 5"]]

    def formula(self, x: Float[Tensor2, "batch 4"]) -> Float[Tensor2, "batch 3"]:
        return Fails()(linear(relu(linear(x, tensor(self.weight1))), tensor(self.weight2)))


@pytest.mark.parametrize("place", ["a node", "a derivative", "computing"])
def test_errors_in_a_step_of_tensors(place: str) -> None:
    """The tape is closed, and what was made before the error goes with the exception."""
    weight = tensor(numbers(5, 4))

    def step() -> None:
        with Tape() as tape:
            y = relu(linear(tensor(numbers(8, 4)), weight))
            if place == "a node":
                y = y + tensor(numbers(7))
            elif place == "a derivative":
                tape.gradient(Endless()(y).sum(), [weight], zeros=True)
            else:
                realize(y, Fails()(y))

    for _ in range(3):
        with pytest.raises((ShapeError, ArgumentError, OutOfMemory)):
            step()
        assert GRAPH.tapes == 0
        assert GRAPH.recorded is None
