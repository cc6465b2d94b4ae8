"""Functions of one's own: a node for whatever NumPy computes, differentiable by a second method."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.graph.differences import check_gradients, values
from typednn.errors import ArgumentError
from typednn.graph.custom import Function
from typednn.graph.tape import Tape
from typednn.graph.tensor import Tensor, realize, tensor


class Cube(Function):
    def forward(self, x: Any) -> Any:
        return x * x * x

    def backward(self, next_grad: Any, x: Any) -> Any:
        return next_grad * 3.0 * x * x


class Weighted(Function):
    """The sum of x along its last axis, by weights."""

    def result(self, *inputs: Any) -> Any:
        return inputs[0].shape[:-1], inputs[0].dtype

    def forward(self, x: Any, weights: Any) -> Any:
        return x @ weights

    def backward(self, next_grad: Any, x: Any, weights: Any) -> Any:
        next_grad = next_grad.reshape(*next_grad.shape, 1)
        return next_grad * weights, (next_grad * x).sum(tuple(range(x.ndim - 1)))


class Sorted(Function):
    """A kernel that nobody wrote a derivative for."""

    ran = 0

    def forward(self, x: Any) -> Any:
        type(self).ran += 1
        return np.sort(x)


@given(shape=st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_two_methods_are_an_operation(shape: list[int]) -> None:
    """X-A10: values, and derivatives by each input."""
    x, weights = np.random.default_rng(0).normal(size=shape), np.random.default_rng(1).normal(size=shape[-1])
    np.testing.assert_allclose(values(Cube(), x), x**3)
    check_gradients(Cube(), x)
    np.testing.assert_allclose(values(Weighted(), x, weights), x @ weights)
    check_gradients(Weighted(), x, weights)


def test_its_derivative_has_a_derivative() -> None:
    x = tensor(np.array([1.0, 2.0]))
    with Tape() as tape:
        (first,) = tape.gradient_persistent(Cube()(x), [x], zeros=True)
        (second,) = tape.gradient(first, [x], zeros=True)
    realize(first, second)
    np.testing.assert_allclose(second.numpy(), [6, 12])


def test_without_a_derivative_it_computes_and_is_refused_by_name() -> None:
    """X-A10: a NumPy kernel as a node; its gradient is a clear error, and None for what does not pass through it."""
    x, y = tensor(np.array([3.0, 1.0])), tensor(np.array([2.0, 2.0]))
    with Tape() as tape:
        z = Sorted()(x) * y
        np.testing.assert_array_equal(z.numpy(), [2, 6])
        with pytest.raises(ArgumentError, match=r"Sorted.*derivative only if it defines backward"):
            tape.gradient_persistent(z, [x])
        (dy,) = tape.gradient(z, [y], zeros=True)
        np.testing.assert_array_equal(dy.numpy(), [1, 3])


def test_it_runs_when_it_is_asked_for_and_once() -> None:
    x, sort = tensor(np.array([3.0, 1.0])), Sorted()
    before = Sorted.ran
    y = sort(x) + sort(x)
    assert Sorted.ran == before
    y.realize()
    assert Sorted.ran == before + 1
    assert repr(sort(x)) == "Tensor(Sorted(array (2)), float64, not computed)"


@pytest.mark.parametrize("wrong", [lambda g: (g, g), lambda g: g.sum()])
def test_a_backward_of_wrong_shape_is_refused(wrong: Any) -> None:
    """X-A10: a derivative for each input, shaped as it."""

    class Wrong(Cube):
        def backward(self, next_grad: Tensor, x: Any) -> Any:
            return wrong(next_grad)

    x = tensor(np.ones(2))
    with Tape() as tape, pytest.raises(ArgumentError, match=r"Wrong\.backward: gives a derivative for each input"):
        tape.gradient(Wrong()(x), [x])
