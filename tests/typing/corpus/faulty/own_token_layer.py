"""A layer of tokens of one's own gives fewer features than the next layer reads."""

from dataclasses import dataclass
from typing import Any, final

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
    Parameter,
    Positionwise,
    S,
)
from typednn.arguments import integer
from typednn.layer import Rows


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


model = Input(7, dtype=int) >> Table(20, 6) >> Scaled(8)  # shape: expects 8 features, gets 6
