"""Buffers are filled, printed, saved and moved; gradcheck puts back what a forward in training changes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from jaxtyping import Bool, Float, Integer

from typednn import (
    AnyArray,
    Array1,
    Array2,
    Buffer,
    Elementwise,
    ElementwiseGrad,
    Gradient,
    IntArray1,
    Kept,
    Layer,
    S,
    gradcheck,
)
from typednn.errors import ArgumentError, DTypeError, NotInitialised, StateDictError
from typednn.layer import A
from typednn.layers import Linear
from typednn.testing.gradcheck import GradcheckError


@dataclass(frozen=True, slots=True)
class InputGrad(Gradient):
    input: Float[Array2, "batch features"]


class Standardised(Layer[Array2, Array2, InputGrad, S]):
    """x - mean over the batch in training, minus the running mean in eval; counts its forwards."""

    mean: Buffer[Float[Array1, " {self.features}"]]
    forwards: Buffer[Integer[IntArray1, "1"]]
    mask: Buffer[Bool[AnyArray, " {self.features}"]]

    def __init__(self, features: int, **rules: Any) -> None:
        self.features = features
        self.initialise_with(**rules)

    def forward(self, x: Float[Array2, "batch {self.features}"]) -> Float[Array2, "batch {self.features}"]:
        if not self.training:
            return x - self.mean
        self.forwards[0] += 1
        mean = x.mean(axis=0)
        self.mean += (mean - self.mean) / 2.0
        return (x - mean) * float(self.forwards[0])

    def backward(self, next_grad: Float[Array2, "batch {self.features}"]) -> InputGrad:
        return InputGrad((next_grad - next_grad.mean(axis=0)) * float(self.forwards[0]))


class Noisy(Elementwise[None]):
    """Times noise from a generator that the layer holds, or shares with another."""

    _noise: Kept[Float[AnyArray, "*shape"]]

    def __init__(self, rng: Any) -> None:
        self.rng = rng

    def forward(self, x: Float[A, "*shape"]) -> Float[A, "*shape"]:
        noise: Any = self.rng.random(x.shape).astype(x.dtype)
        self._noise = noise
        y: A = x * noise
        return y

    def backward(self, next_grad: Float[A, "*shape"]) -> ElementwiseGrad[A, None]:
        dx: A = next_grad * self._noise  # type: ignore[operator]
        return ElementwiseGrad(dx, None)


RNG = np.random.default_rng(0)
X = RNG.standard_normal((5, 3))


def test_a_buffer_without_a_rule_becomes_zeros_of_its_kind() -> None:
    layer = Standardised(3)
    with pytest.raises(NotInitialised, match=r"Standardised\(3\).mean was never filled; call model.init"):
        layer.state_dict()
    layer.init(RNG)
    assert {name: (array.dtype.name, array.tolist()) for name, array in layer.state_dict().items()} == {
        "mean": ("float32", [0, 0, 0]),
        "forwards": ("int64", [0]),
        "mask": ("bool", [False] * 3),
    }


def test_a_rule_fills_a_buffer_each_time() -> None:
    layer = Standardised(3, mean="ones", forwards=lambda rng, shape, fans: np.full(shape, 7.0)).init(RNG)
    assert (layer.mean.tolist(), layer.forwards.tolist()) == ([1, 1, 1], [7])
    layer.forwards[0] = 9
    assert layer.init(RNG).forwards.tolist() == [7]


def test_what_was_assigned_stays() -> None:
    layer = Standardised(3)
    layer.mask = np.array([True, False, True])
    assert layer.init(RNG).mask.tolist() == [True, False, True]


def test_buffers_draw_nothing_from_the_generator() -> None:
    with_buffers = (Standardised(3) >> Linear(3, 2)).init(np.random.default_rng(5))
    assert with_buffers.parts[1].weight.tobytes() == Linear(3, 2).init(np.random.default_rng(5)).weight.tobytes()


def test_print_shows_buffers_and_counts_them_not() -> None:
    assert str(Standardised(3)) == (
        "  Standardised(3)  buffer mean (3,), buffer forwards (1,), buffer mask (3,)\n0 parameters"
    )


def test_buffers_are_saved_and_keep_their_kind() -> None:
    layer, other = Standardised(3).init(RNG), Standardised(3)
    layer.forward(X.astype(np.float32))
    other.load_state_dict(layer.state_dict())
    assert other.forwards.tolist() == [1]
    assert other.eval().forward(X.astype(np.float32)).tobytes() == layer.eval().forward(X.astype(np.float32)).tobytes()
    for wrong in (layer.mean.astype(np.float64), layer.mean.astype(np.int64)):
        for target in (other, Standardised(3)):
            with pytest.raises(StateDictError, match=rf"'mean' is {wrong.dtype}, the model float32"):
                target.load_state_dict(layer.state_dict() | {"mean": wrong})
    layer.astype(np.float64)
    assert [array.dtype.name for array in layer.state_dict().values()] == ["float64", "int64", "bool"]


def test_a_floating_buffer_has_the_models_precision() -> None:
    layer = Standardised(3).init(RNG)
    with pytest.raises(DTypeError, match=r"Standardised\(3\).mean: the model's dtype is float32, got float64"):
        layer.mean = np.zeros(3)


def test_gradcheck_of_a_layer_whose_forward_differs_in_training() -> None:
    """The running mean moves by half and the count grows at each forward: every evaluation sees the same."""
    layer = Standardised(3).init(RNG)
    layer.forward(X.astype(np.float32))
    before = {name: array.tobytes() for name, array in layer.state_dict().items()}
    assert gradcheck(layer, X).error < 1e-8
    assert {name: array.tobytes() for name, array in layer.state_dict().items()} == before


def test_gradcheck_puts_generators_back_shared_ones_as_shared() -> None:
    assert gradcheck(Noisy(np.random.default_rng(1)), X).error < 1e-8
    shared = np.random.default_rng(2)
    assert gradcheck((Noisy(shared) >> Linear(3, 2) >> Noisy(shared)).init(RNG), X).error < 1e-8


def test_gradcheck_refuses_what_it_cannot_put_back() -> None:
    outside = np.random.default_rng(1)

    class Unheld(Noisy):
        def forward(self, x: Float[A, "*shape"]) -> Float[A, "*shape"]:
            noise: Any = outside.random(x.shape)
            self._noise = noise
            y: A = x * noise
            return y

    with pytest.raises(
        ArgumentError, match=r"must give the same from the same state.*draw from a generator that the layer holds"
    ):
        gradcheck(Unheld(None), X)


def test_gradcheck_sees_a_derivative_that_is_right_in_eval_only() -> None:
    class EvalsGradient(Standardised):
        def backward(self, next_grad: Float[Array2, "batch {self.features}"]) -> InputGrad:
            return InputGrad(next_grad)

    with pytest.raises(GradcheckError, match="the derivative by 'input'"):
        gradcheck(EvalsGradient(3).init(RNG), X)
