"""A user's own wrappers, layer on the last axis and layer of tokens, in one file."""

from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
from jaxtyping import Float, Int

from typednn import (
    Array1,
    Array2,
    Array3,
    ElementwiseGrad,
    FirstLayer,
    Gradient,
    Input,
    IntArray2,
    Kept,
    Layer,
    Parameter,
    Positionwise,
    S,
)
from typednn.arguments import integer
from typednn.layer import Rows
from typednn.layers import Linear, ReLU


@final
@dataclass(frozen=True, slots=True)
class HalvedGrad(Gradient):
    input: Float[Array2, "batch features"]
    inner: Any


@final
class Halved(Layer[Array2, Array2, HalvedGrad, S]):
    """Half of what a layer gives is added to what it reads."""

    inner: Layer[Array2, Array2, Any, Literal["batch features -> batch features"]]

    def __init__(self, inner: Layer[Array2, Array2, Any]) -> None:
        self.inner = inner

    def forward(self, x: Float[Array2, "batch features"]) -> Float[Array2, "batch features"]:
        y: Any = self.inner.forward(x)
        total: Array2 = x + 0.5 * y
        return total

    def backward(self, next_grad: Float[Array2, "batch features"]) -> HalvedGrad:
        inner = self.inner.backward(next_grad * 0.5)
        return HalvedGrad(next_grad + inner.input, inner)


@final
@dataclass(frozen=True, slots=True)
class EachGrad(Gradient):
    input: Float[Array3, "batch time in_features"]
    inner: Any


@final
class Each(Layer[Array3, Array3, EachGrad, S]):
    """A layer for rows at each position of a sequence."""

    inner: Layer[Array2, Array2, Any, Literal["batch*time in_features -> batch*time out_features"]]

    def __init__(self, inner: Layer[Array2, Array2, Any]) -> None:
        self.inner = inner

    def forward(self, x: Float[Array3, "batch time in_features"]) -> Float[Array3, "batch time out_features"]:
        rows = self.inner.forward(x.reshape(x.shape[0] * x.shape[1], x.shape[2]))
        return rows.reshape(x.shape[0], x.shape[1], rows.shape[1])

    def backward(self, next_grad: Float[Array3, "batch time out_features"]) -> EachGrad:
        batch, time, features = next_grad.shape
        inner = self.inner.backward(next_grad.reshape(batch * time, features))
        return EachGrad(inner.input.reshape(batch, time, inner.input.shape[1]), inner)


@final
@dataclass(frozen=True, slots=True)
class ScaledGrad(Gradient):
    scale: Float[Array1, " features"]


@final
class Scaled(Positionwise[ScaledGrad]):
    """Each feature of rows, or of a sequence, has a scale."""

    features: int
    scale: Parameter[Float[Array1, " {self.features}"]]
    _x: Kept[Any]

    def __init__(self, features: int) -> None:
        self.features = integer("Scaled", "features", features)

    def forward(self, x: Float[Rows, "*batch {self.features}"]) -> Float[Rows, "*batch {self.features}"]:
        self._x = x
        y: Any = x * self.scale
        scaled: Rows = y
        return scaled

    def backward(self, next_grad: Float[Rows, "*batch {self.features}"]) -> ElementwiseGrad[Rows, ScaledGrad]:
        dx: Any = next_grad * self.scale
        products = (next_grad * self._x).reshape(-1, self.features)
        return ElementwiseGrad(dx, ScaledGrad(products.sum(axis=0)))


@final
@dataclass(frozen=True, slots=True)
class TableGrad(Gradient):
    input: None
    table: Float[Array2, "vocabulary features"]


@final
class Table(FirstLayer[IntArray2, Array3, TableGrad, S]):
    """A row of features for each token."""

    table: Parameter[Float[Array2, "{self.vocabulary} {self.features}"]]
    _tokens: Kept[Any]

    def __init__(self, vocabulary: int, features: int) -> None:
        self.vocabulary = integer("Table", "vocabulary", vocabulary)
        self.features = integer("Table", "features", features)

    def forward(self, x: Int[IntArray2, "batch time"]) -> Float[Array3, "batch time {self.features}"]:
        self._tokens = x
        rows: Array3 = self.table[x]
        return rows

    def backward(self, next_grad: Float[Array3, "batch time {self.features}"]) -> TableGrad:
        dtable = np.zeros_like(self.table)
        np.add.at(dtable, self._tokens, next_grad)
        return TableGrad(None, dtable)


block = Halved(Linear(6, 9) >> ReLU() >> Linear(9, 6))
rows = Input(6) >> block >> Scaled(6) >> Halved(Halved(Linear(6, 6))) >> Linear(6, 2)
model = Input(7, dtype=int) >> Table(20, 6) >> Each(block) >> Scaled(6) >> ReLU() >> Each(Linear(6, 3)) >> Scaled(3)


def halved(inner: Layer[Array2, Array2, Any]) -> Any:
    """Of whatever layer: what is not known is not refused."""
    return Linear(4, 5) >> Halved(inner) >> Linear(5, 2)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    print(rows.init(rng).forward(np.ones((3, 6), np.float32)).shape, halved(Linear(5, 5)))
    print(model.init(rng).forward(np.ones((2, 7), np.int64)).shape)
