"""A layer of one's own for rows and sequences, after images."""
# pyright: reportOperatorIssue=false, reportUnknownVariableType=false

from dataclasses import dataclass
from typing import Any, final

from jaxtyping import Float

from typednn import (
    Array1,
    ElementwiseGrad,
    Gradient,
    Input,
    Kept,
    Parameter,
    Positionwise,
)
from typednn.arguments import integer
from typednn.layer import Rows
from typednn.layers import ReLU


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


images = Input(9, 9, 6)
model = images >> ReLU() >> Scaled(6)  # shape: expects 2 or 3 axes, gets 4 axes  # mypy: operator
