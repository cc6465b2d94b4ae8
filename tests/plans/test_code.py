"""Which hand-written models get plans: those whose source does the same each time; of others a line is named."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, final

import numpy as np
import pytest
from jaxtyping import Float

import typednn
from typednn import Gradient, Kept, Layer, Parameter, S
from typednn.arrays import AnyArray, Array2
from typednn.kernels.pointwise import add, scaled
from typednn.layers import Linear, ReLU, Tanh
from typednn.layers.linear import LinearGrad
from typednn.plans import Compiled
from typednn.plans.code import unplannable

D = 6


@final
@dataclass(frozen=True, slots=True)
class BlockGrad(Gradient):
    """The gradients of both maps."""

    input: Float[Array2, "batch features"]
    a: LinearGrad
    b: LinearGrad


class Block(Layer[Array2, Array2, BlockGrad, S]):
    """x + b(relu(a(x))), of which others change a part."""

    def __init__(self, depth: int = 1) -> None:
        self.depth: int = depth
        self.a: Linear = Linear(D, D)
        self.act: ReLU = ReLU()
        self.b: Linear = Linear(D, D)

    def forward(self, x: Float[Array2, "batch 6"]) -> Float[Array2, "batch 6"]:
        return add(x, self.b.forward(self.inner(x)))

    def inner(self, x: Any) -> Any:
        return self.act.forward(self.a.forward(x))

    def backward(self, next_grad: Float[Array2, "batch 6"]) -> BlockGrad:
        b = self.b.backward(next_grad)
        a = self.a.backward(self.act.backward(b.input).input)
        return BlockGrad(add(a.input, next_grad), a, b)


class BySize(Block):
    """What decides is a setting or a size."""

    def inner(self, x: Any) -> Any:
        batch, _ = x.shape
        parts = [self.a]
        for number, part in enumerate(parts):
            if self.depth > 0 and batch > number and x is not self:
                x = part.forward(x)
        if not self.depth:
            raise ValueError(f"depth {self.depth}")
        return self.act.forward(x) if len(x) > 0 else x


class ByValue(Block):
    def inner(self, x: Any) -> Any:
        y = self.a.forward(x)
        return self.act.forward(y) if y[0, 0] > -1e9 else y


class ByWeight(Block):
    def inner(self, x: Any) -> Any:
        y = self.a.forward(x)
        return self.act.forward(y) if self.a.weight[0, 0] > -1e9 else y


class ByTurn(Block):
    """In the second turn a value decides, which the first has assigned."""

    def inner(self, x: Any) -> Any:
        large: Any = True
        y = x
        for _ in range(2):
            if large:
                y = x
            large = x[0, 0] > 0
        return self.act.forward(self.a.forward(y))


class Prints(Block):
    def inner(self, x: Any) -> Any:
        print("inner")
        return super().inner(x)


class CallsNumPy(Block):
    def inner(self, x: Any) -> Any:
        np.add(x, 1, out=x)
        return super().inner(x)


class CallsAFunction(Block):
    def inner(self, x: Any) -> Any:
        return noted(super().inner(x))


SEEN: list[Any] = []


def noted(x: Any) -> Any:
    """Changes what is not the layer's."""
    SEEN.append(x)
    return x


class Writes(Block):
    def inner(self, x: Any) -> Any:
        y = self.act.forward(self.a.forward(x))
        y[0] = 0
        return y


twice: Callable[[Any], Any] = lambda x: scaled(x, 2.0)  # noqa: E731


class CallsALambda(Block):
    def inner(self, x: Any) -> Any:
        return twice(super().inner(x))


class Draws(Block):
    rng: ClassVar[Any] = np.random.default_rng(0)

    def inner(self, x: Any) -> Any:
        return scaled(super().inner(x), float(self.rng.random()))


class Tries(Block):
    def inner(self, x: Any) -> Any:
        try:
            return super().inner(x)
        except ValueError:
            return x


class Lambda(Block):
    def inner(self, x: Any) -> Any:
        other: Callable[[Any], Any] = lambda y: y  # noqa: E731
        return other(super().inner(x))


class Appends(Block):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Any] = []

    def inner(self, x: Any) -> Any:
        self.seen.append(x)
        return super().inner(x)


class InBackward(Block):
    def backward(self, next_grad: Float[Array2, "batch 6"]) -> BlockGrad:
        if next_grad.sum() > 0:
            SEEN.append(1)
        return super().backward(next_grad)


REFUSED: dict[type[Any], str] = {
    ByValue: "ByValue.inner decides by a value",
    ByWeight: "ByWeight.inner decides by a value",
    ByTurn: "ByTurn.inner decides by a value",
    Prints: "calls print",
    CallsNumPy: "calls np.add",
    CallsAFunction: "noted calls SEEN.append",
    Writes: "writes into what is not its own",
    CallsALambda: "<lambda> is no def that can be read",
    Draws: "calls float",
    Tries: "a statement that plans don't know (Try)",
    Lambda: "an expression that plans don't know (Lambda)",
    Appends: "calls self.seen.append",
    InBackward: "InBackward.backward calls next_grad.sum",
}


def trained(model: Any, told: list[str] | None = None) -> tuple[Compiled[Any, Any, Any], list[Any]]:
    """A compiled model after six forwards and backwards, and what they gave."""
    notes: list[str] = [] if told is None else told
    compiled: Compiled[Any, Any, Any] = Compiled(model, told=notes.append)
    results: list[Any] = []
    for seed in range(6):
        x = np.random.default_rng(seed).standard_normal((4, D), np.float32)
        y = compiled.forward(x)
        results += [y, *compiled.backward(scaled(y, 2.0)).leaves().values()]
    return compiled, results


@pytest.mark.parametrize("kind", [Block, BySize])
def test_planned(kind: type[Block]) -> None:
    """And the results are those of the layers."""
    model = kind().init(np.random.default_rng(0)).train()
    assert unplannable(model) == ""
    compiled, results = trained(model)
    assert compiled.why_not() == ""
    assert compiled.explain(times=1).lines
    plain = kind().init(np.random.default_rng(0)).train()
    expected: list[Any] = []
    for seed in range(6):
        y = plain.forward(np.random.default_rng(seed).standard_normal((4, D), np.float32))
        expected += [y, *plain.backward(scaled(y, 2.0)).leaves().values()]
    for one, two in zip(results, expected, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("kind", REFUSED)
def test_refused_by_a_line(kind: type[Block]) -> None:
    """The message names what the line does, the file and the line; results are still those of the layers."""
    model = kind().init(np.random.default_rng(0)).train()
    why = unplannable(model)
    assert REFUSED[kind] in why
    place, line = why.rsplit(":", 1)
    assert place.endswith(Path(__file__).name)
    assert 0 < int(line) < len(Path(__file__).read_text(encoding="utf-8").splitlines())
    told: list[str] = []
    compiled, results = trained(model, told)
    assert told == [f"layer by layer: {why}"]
    assert compiled.why_not() == why
    assert all(np.isfinite(each).all() for each in results)


class Adds(Block):
    """Arithmetic of NumPy is no op."""

    def forward(self, x: Float[Array2, "batch 6"]) -> Float[Array2, "batch 6"]:
        return x + self.b.forward(self.inner(x))


class AddsWithin(Block):
    def inner(self, x: Any) -> Any:
        return self.act.forward(self.a.forward(x) * 2)


class Counts(Block):
    calls: int = 0

    def inner(self, x: Any) -> Any:
        self.calls = self.calls + 1
        return super().inner(x)


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (Adds, "the output is an array that no op computed: arithmetic of NumPy, such as x + y"),
        (AddsWithin, "relu.forward reads an array that no op computed, as arithmetic of NumPy gives, at "),
        (Counts, "a forward changes an attribute of a layer"),
    ],
)
def test_refused_when_it_is_recorded(kind: type[Block], why: str) -> None:
    """What the source allows, but is no op."""
    model = kind().init(np.random.default_rng(0)).train()
    assert unplannable(model) == ""
    told: list[str] = []
    compiled, _ = trained(model, told)
    assert why in compiled.why_not()
    assert told == [f"layer by layer: {compiled.why_not()}"]


def test_the_warning() -> None:
    """Without a listener it is a warning."""
    compiled: Any = typednn.compile(Prints().init(np.random.default_rng(0)).eval())
    x = np.zeros((2, D), np.float32)
    compiled.forward(x)
    with pytest.warns(RuntimeWarning, match=r"layer by layer: .*calls print"):
        compiled.forward(x)
    compiled.forward(x)  # told once


@final
@dataclass(frozen=True, slots=True)
class KinkedGrad(Gradient):
    """Of `Kinked`."""

    input: Float[Array2, "batch 6"]
    slope: Float[Array2, "1 6"]


class Kinked(Layer[Array2, Array2, KinkedGrad, S]):
    """A layer with a parameter and kept arrays of its own."""

    slope: Parameter[Float[Array2, "1 6"]]
    _y: Kept[Float[AnyArray, "batch 6"]]

    def __init__(self) -> None:
        self.act: Tanh = Tanh()
        self.initialise_with(slope="ones")

    def forward(self, x: Float[Array2, "batch 6"]) -> Float[Array2, "batch 6"]:
        self._y = y = self.act.forward(x)
        return add(y, x)

    def backward(self, next_grad: Float[Array2, "batch 6"]) -> KinkedGrad:
        back = self.act.backward(next_grad).input
        return KinkedGrad(add(back, next_grad), scaled(self.slope, math.pi))


def test_kept_arrays_and_constants() -> None:
    """Kept arrays may be written, and modules' constants read."""
    model = Kinked().init(np.random.default_rng(0)).train()
    assert unplannable(model) == ""
    compiled, _ = trained(model)
    assert compiled.why_not() == ""
