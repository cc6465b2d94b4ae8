"""What a wrapper of one's own gives has the features of the layer within."""

from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
from jaxtyping import Float, Int

from typednn import (
    Array2,
    Array3,
    FirstLayer,
    Gradient,
    Input,
    IntArray2,
    Kept,
    Layer,
    Parameter,
    S,
)
from typednn.arguments import integer
from typednn.layers import Linear


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


model = Input(8, dtype=int) >> Table(20, 6) >> Each(Linear(6, 3)) >> Each(Linear(4, 2))  # shape: expects 4 features, gets 3
