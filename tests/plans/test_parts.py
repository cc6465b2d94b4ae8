"""Parts that a plan calls as a whole, between layers that are planned."""

from dataclasses import dataclass
from typing import Any, cast, final

import numpy as np
import pytest
from jaxtyping import Float

from tests.plans.numpy_layers import Gated, Scaled, ScaledOrNot
from tests.plans.planned_pair import Between, Pair, numbers, rng, trained
from typednn import Elementwise, ElementwiseGrad, Gradient, Layer, S
from typednn.arrays import AnyArray, Array2
from typednn.layer import A
from typednn.layers import Dropout, Linear, ReLU, Residual, Tanh
from typednn.optim import SGD
from typednn.plans.compiled import Compiled


def small(inner: Any) -> Any:
    return (Linear(4, 6) >> ReLU() >> inner >> Dropout(0.2) >> Linear(6, 5) >> Tanh() >> Linear(5, 3)).init(rng())


def engines(pair: Pair) -> list[str]:
    """Of the plan's steps that are layers."""
    return [line.name for line in pair.compiled.explain(times=1).lines if line.engine == "layer, by Python"]


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (Scaled, "Scaled.forward calls"),
        (ScaledOrNot, "ScaledOrNot.forward decides by a value"),
        (lambda: Gated(6), "Gated.forward calls np.tanh"),
    ],
)
@pytest.mark.parametrize("keep", ["parameters", "inputs"])
def test_a_part_by_numpy(kind: Any, why: str, keep: Any) -> None:
    """The bits of the layers, and the other layers are planned: their activations become one with the affine maps."""
    pair = trained(small(kind()).train(), steps=12, keep=keep)
    (told,) = pair.told
    assert told.startswith(f'"2" is called as a whole: {why}')
    assert "numpy_layers.py:" in told
    assert pair.plans == 1
    name = type(pair.model.parts[2]).__name__
    assert engines(pair) == [f"{name}.forward", f"{name}.backward"]
    ops = [line.name for line in pair.compiled.explain(times=1).lines]
    assert ("relu.forward" in ops) == (keep == "inputs")  # else it is one op with the affine map before it
    assert told in str(pair.compiled.explain(times=1))


@pytest.mark.parametrize("kind", [Scaled, ScaledOrNot, lambda: Gated(6)])
def test_in_eval(kind: Any) -> None:
    pair = Pair(small(kind()).eval())
    for seed in range(8):
        pair.forward(numbers(5, 4, seed=seed))
    assert pair.plans == 1
    assert len(engines(pair)) == 1


@final
class Doubled(Elementwise[None]):
    """Arithmetic of NumPy, that no line shows."""

    def forward(self, x: Float[A, "*shape"]) -> Float[A, "*shape"]:
        return cast("A", x + x)

    def backward(self, next_grad: Float[A, "*shape"]) -> ElementwiseGrad[A, None]:
        return ElementwiseGrad(cast("A", next_grad * 2), None)


@final
class DoubledBack(Elementwise[None]):
    """The same, in backward alone."""

    def forward(self, x: Float[A, "*shape"]) -> Float[A, "*shape"]:
        return x

    def backward(self, next_grad: Float[A, "*shape"]) -> ElementwiseGrad[A, None]:
        return ElementwiseGrad(cast("A", next_grad * 2), None)


@pytest.mark.parametrize("kind", [Doubled, DoubledBack])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_what_only_the_recording_shows(kind: Any, place: int) -> None:
    """First, in the middle and last. The recording that fails finds the part."""
    parts: list[Any] = [Linear(4, 4), Linear(4, 4)]
    parts.insert(place, kind())
    pair = trained((parts[0] >> parts[1] >> parts[2]).init(rng()).train(), steps=8)
    if kind is DoubledBack and place == 0:  # nobody reads the derivative by the input
        assert pair.told == engines(pair) == []
        return
    (told,) = pair.told
    assert told.startswith(f'"{place}" is called as a whole: ')
    assert pair.plans == 1
    assert engines(pair) == [f"{kind.__name__}.forward", f"{kind.__name__}.backward"]


def test_within_other_parts() -> None:
    """The innermost part that is not known is called as a whole."""
    inner = Between(Linear(6, 6), Residual(Scaled()), Linear(6, 6))
    pair = trained(small(inner).train(), steps=8)
    (told,) = pair.told
    assert told.startswith('"2.inner.inner" is called as a whole: ')
    assert engines(pair) == ["Scaled.forward", "Scaled.backward"]


def test_twice() -> None:
    """Two parts, of which one shares its parameters with the other."""
    first = Scaled()
    model = (Linear(4, 6) >> first >> Linear(6, 6) >> first.shared() >> Linear(6, 3)).init(rng()).train()
    pair = trained(model, steps=8)
    assert len(pair.told) == 2
    assert len(engines(pair)) == 4


def test_another_array_in_the_place_of_a_weight() -> None:
    """Is noticed, as in every layer."""
    pair = trained(small(Scaled()).train())
    pair.change(lambda model: setattr(model.parts[2], "scale", np.full(1, 3, np.float32)))
    for seed in range(6):
        pair.step(numbers(5, 4, seed=seed))
    assert pair.plans == 1
    assert pair.compiled.changes == 1


@final
class AddsBefore(Between):
    """Arithmetic of NumPy in the model's own lines, before parts that are the user's too."""

    def forward(self, x: Float[AnyArray, "batch *input"]) -> Float[AnyArray, "batch *output"]:
        return super().forward(cast("AnyArray", x + x))


def test_a_part_that_reads_what_the_model_computed_by_numpy() -> None:
    """Is not what is told: the model is."""
    model = AddsBefore(Between(Linear(4, 6), ReLU(), Linear(6, 6)), ReLU(), Linear(6, 3)).init(rng()).train()
    pair = trained(model, steps=8)
    (told,) = pair.told
    assert told.startswith("layer by layer: linear.forward reads an array that no op computed")


@final
class Noise(Elementwise[None]):
    """Draws of its own, which are others each time."""

    def __init__(self) -> None:
        self.generator = np.random.default_rng(0)

    def forward(self, x: Float[A, "*shape"]) -> Float[A, "*shape"]:
        given: Any = x
        return cast("A", given + self.generator.standard_normal(given.shape).astype(given.dtype))

    def backward(self, next_grad: Float[A, "*shape"]) -> ElementwiseGrad[A, None]:
        return ElementwiseGrad(next_grad, None)


def test_draws_of_its_own() -> None:
    """Both ways differ, so the model has no plan."""
    model = small(Noise()).train()
    told: list[str] = []
    compiled: Any = Compiled(model, told=told.append)
    for seed in range(6):
        y = compiled.forward(numbers(5, 4, seed=seed))
        compiled.backward(np.sin(y))
    assert told[0].startswith('"2" is called as a whole: ')
    assert told[1] == "layer by layer: the output of the plan differs from the layers'"
    assert compiled.why_not()


@final
@dataclass(frozen=True, slots=True)
class TurnedGrad(Gradient):
    """A part of next_grad."""

    input: Float[Array2, "batch n"]


@final
class Turned(Layer[Array2, Array2, TurnedGrad, S]):
    """Arrays in layouts that plans do not read."""

    def forward(self, x: Float[Array2, "batch 6"]) -> Float[Array2, "batch 6"]:
        return np.asfortranarray(x + 1)[::-1] if x.flat[0] > 0 else x + 1

    def backward(self, next_grad: Float[Array2, "batch 6"]) -> TurnedGrad:
        return TurnedGrad(next_grad[::-1])


def test_other_layouts() -> None:
    """What a part gives is copied."""
    pair = trained(small(Turned()).train(), steps=8)
    assert engines(pair) == ["Turned.forward", "Turned.backward"]


@dataclass
class OwnGrad:
    """Of an object that derives from nothing."""

    input: Any
    weight: Any


class Own:
    """With a parameter that it steps itself."""

    gradient: Any = OwnGrad

    def __init__(self) -> None:
        self.weight = np.ones(6, np.float32)

    def forward(self, x: Any) -> Any:
        self.x = x
        return x * self.weight

    def backward(self, next_grad: Any) -> Any:
        return self.gradient(next_grad * self.weight, (next_grad * self.x).sum(0))

    def update(self, optimizer: Any, grad: Any) -> None:
        optimizer.step(self.weight, grad.weight)


class Undescribed(Own):
    """Whose gradient's fields nobody can list."""

    class gradient:  # noqa: N801
        def __init__(self, dx: Any, weight: Any) -> None:
            self.input, self.weight = dx, weight


@pytest.mark.parametrize("kind", [Own, Undescribed])
def test_a_part_that_derives_from_nothing(kind: Any) -> None:
    """Is called as a whole; a model with one whose gradient is no dataclass stays layer by layer. The losses are the
    layers'.
    """
    told: list[str] = []
    model, plain = small(kind()).train(), small(kind()).train()
    compiled: Any = Compiled(model, told=told.append)
    optimizers = SGD(0.1), SGD(0.1)
    for seed in range(8):
        x = numbers(5, 4, seed=seed)
        y, other = compiled.forward(x), plain.forward(x)
        np.testing.assert_array_equal(y, other)
        model.update(optimizers[0], compiled.backward(np.sin(y)))
        plain.update(optimizers[1], plain.backward(np.sin(other)))
    assert told[0].startswith(f'"2" is called as a whole: {kind.__name__} derives from no class of typednn')
    if kind is Own:
        assert len(told) == 1
        names = [line.name for line in compiled.explain(times=1).lines if line.engine == "layer, by Python"]
        assert names == ["Own.forward", "Own.backward"]
    else:
        assert told[1:] == ["layer by layer: the gradient of Undescribed is a gradient, which is no dataclass"]
