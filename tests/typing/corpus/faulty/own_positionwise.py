"""A layer of one's own on the last axis of a sequence of another number of features."""

from dataclasses import dataclass
from typing import Any, Literal, final

from jaxtyping import Float

from typednn import (
    Array1,
    Array2,
    Array3,
    ElementwiseGrad,
    Gradient,
    Input,
    Kept,
    Layer,
    Parameter,
    Positionwise,
    S,
)
from typednn.arguments import integer
from typednn.layer import Rows
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


model = Input(7, 6) >> Each(Linear(6, 4)) >> Scaled(5)  # shape: Scaled(5) cannot follow Each(Linear(6, 4)): expects 5 features, gets 4
