"""Functions: one node each, with two methods."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from typednn.errors import ArgumentError, DTypeError, ShapeError, TypednnError
from typednn.graph.custom import Function
from typednn.graph.graph import GRAPH, Shape
from typednn.graph.kinds import Kind
from typednn.graph.nodes import realize, tensor
from typednn.graph.tape import Tape
from typednn.graph.tensor import AnyTensor


class Cube(Function):
    """Z-D3: nothing but these two."""

    def forward(self, x: Any) -> Any:
        return x * x * x

    def backward(self, next_grad: AnyTensor, x: AnyTensor) -> AnyTensor:
        return next_grad * 3.0 * x * x


def test_two_methods_make_an_operation() -> None:
    """Z-D3: forward, backward, and the second derivative, which follows from ``backward``."""
    x = tensor(np.array([1.0, 2.0]))
    with Tape() as tape:
        y = Cube()(x)
        assert GRAPH.kind(y.id) == Kind.CUSTOM
        (first,) = tape.gradient_persistent(y, [x], zeros=True)
        (second,) = tape.gradient(first, [x], zeros=True)
    realize(y, first, second)
    assert y.numpy().tolist() == [1, 8]
    assert first.numpy().tolist() == [3, 12]
    assert second.numpy().tolist() == [6, 12]


@dataclass(frozen=True)
class Scaled(Function):
    """X-A10: several inputs, a shape and dtype of its own, an argument."""

    factor: float

    def result(self, x: AnyTensor, y: AnyTensor) -> tuple[Shape, np.dtype[Any]]:
        return (x.shape[0], y.shape[0]), x.dtype

    def forward(self, x: Any, y: Any) -> Any:
        return self.factor * x[:, None] * y

    def backward(self, next_grad: AnyTensor, x: AnyTensor, y: AnyTensor) -> tuple[AnyTensor, None]:
        return (next_grad * y).sum(axis=1) * self.factor, None


def test_several_inputs_and_a_shape_of_its_own() -> None:
    """X-A10: equal functions of equal inputs are computed once."""
    x, y = tensor(np.array([1.0, 2.0])), tensor(np.array([3.0, 4.0, 5.0]))
    with Tape() as tape:
        z = Scaled(2.0)(x, y)
        assert z.shape == (2, 3)
        found = tape.gradient(z, [x, y])
    assert found[0] is not None
    assert found[0].numpy().tolist() == [24, 24]
    assert found[1] is None
    assert z.numpy().tolist() == [[6, 8, 10], [12, 16, 20]]


calls: list[int] = []


@dataclass(frozen=True)
class Counted(Function):
    def forward(self, x: Any) -> Any:
        calls.append(1)
        return x + 1


def test_equal_functions_of_equal_inputs_are_computed_once() -> None:
    """X-A10"""
    calls.clear()
    x = tensor(np.ones(2))
    realize(Counted()(x), Counted()(x))
    assert len(calls) == 1


class ForwardOnly(Function):
    def forward(self, x: Any) -> Any:
        return x * 2


class Once(Function):
    """Its derivative is a function without one."""

    def forward(self, x: Any) -> Any:
        return x * x

    def backward(self, next_grad: AnyTensor, x: AnyTensor) -> AnyTensor:
        return next_grad * ForwardOnly()(x)


def test_a_derivative_that_is_missing_is_refused() -> None:
    """X-A10, Z-D3: the first of one without ``backward``, the second of one whose ``backward`` is no composition."""
    x = tensor(np.array([3.0]))
    message = "ForwardOnly: has a derivative only if it defines backward, got none; define ForwardOnly.backward"
    with Tape() as tape, pytest.raises(ArgumentError, match=message):
        tape.gradient(ForwardOnly()(x), [x])
    with Tape() as tape:
        (first,) = tape.gradient_persistent(Once()(x), [x], zeros=True)
        assert first.item() == 6
        with pytest.raises(ArgumentError, match=message):
            tape.gradient(first, [x])


class Lying(Function):
    def __init__(self, given: Any) -> None:
        self.given = given

    def forward(self, x: Any) -> Any:
        return self.given


@pytest.mark.parametrize(
    "given", [np.ones(3), np.ones(2, np.float32), [1.0, 2.0], None], ids=["shape", "dtype", "list", "none"]
)
def test_forward_gives_what_result_said(given: Any) -> None:
    """X-A10"""
    with pytest.raises(ShapeError, match=r"Lying\.forward: gives float64 of shape \(2,\), as result says, got"):
        Lying(given)(tensor(np.ones(2))).realize()


class Crooked(Cube):
    def backward(self, next_grad: AnyTensor, x: AnyTensor) -> AnyTensor:
        return next_grad.sum()


def test_backward_gives_one_derivative_for_each_input() -> None:
    """X-A10"""
    x = tensor(np.ones(2))
    with (
        Tape() as tape,
        pytest.raises(
            ArgumentError, match=r"Crooked\.backward: gives a derivative for each input, of shapes \(2,\), got \(\)"
        ),
    ):
        tape.gradient(Crooked()(x), [x])


@dataclass
class Unhashable(Function):
    def forward(self, x: Any) -> Any:
        return x


class Empty(Function):
    pass


class Text(Cube):
    def result(self, *inputs: AnyTensor) -> tuple[Shape, np.dtype[Any]]:
        return (2,), np.dtype("U3")


def test_what_is_refused() -> None:
    """X-A10: one clear error each."""
    x = tensor(np.ones(2))
    with pytest.raises(ArgumentError, match="Unhashable: is hashable"):
        Unhashable()(x)
    with pytest.raises(ArgumentError, match="Cube: is a function of tensors, got ndarray"):
        Cube()(np.ones(2))  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="Cube: is a function of tensors, got none"):
        Cube()()
    with pytest.raises(ArgumentError, match="Empty: computes something only if it defines forward"):
        Empty()(x).realize()
    with pytest.raises(DTypeError, match="Text"):
        Text()(x)
    assert issubclass(DTypeError, TypednnError)
