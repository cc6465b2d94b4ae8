"""A user-defined layer of the wrong width."""

from dataclasses import dataclass
from typing import final

from jaxtyping import Float

from typednn import Array1, Array2, Gradient, Kept, Layer, Parameter, S
from typednn.layers import Linear


@final
@dataclass(frozen=True, slots=True)
class ScaleGrad(Gradient):
    """The loss's derivative by each quantity, under that quantity's own name."""

    input: Float[Array2, "batch features"]
    weight: Float[Array1, " features"]


@final
class Scale(Layer[Array2, Array2, ScaleGrad, S]):
    """Each feature times a factor of its own."""

    weight: Parameter[Float[Array1, " {self.features}"]]
    _x: Kept[Float[Array2, "batch {self.features}"]]

    def __init__(self, features: int) -> None:
        self.features = features

    def forward(self, x: Float[Array2, "batch {self.features}"]) -> Float[Array2, "batch {self.features}"]:
        self._x = x
        return x * self.weight

    def backward(self, next_grad: Float[Array2, "batch {self.features}"]) -> ScaleGrad:
        return ScaleGrad(next_grad * self.weight, (next_grad * self._x).sum(axis=0))


model = Linear(4, 8) >> Scale(9)  # right: model = Linear(4, 8) >> Scale(8)
