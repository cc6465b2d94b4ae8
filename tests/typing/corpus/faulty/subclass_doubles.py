"""A subclass that doubles the features; the layer behind it reads as many as went in."""

from dataclasses import dataclass

from jaxtyping import Float

from typednn import Array2, Gradient, Input, Kept, Layer, Parameter, S
from typednn.layers import Linear


@dataclass(frozen=True)
class MapGrad(Gradient):
    input: Float[Array2, "batch inputs"]
    weight: Float[Array2, "inputs outputs"]


class Map(Layer[Array2, Array2, MapGrad, S]):
    weight: Parameter[Float[Array2, "{self.inputs} {self.outputs}"]]
    _x: Kept[Float[Array2, "batch {self.inputs}"]]

    def __init__(self, inputs: int, outputs: int) -> None:
        self.inputs = inputs
        self.outputs = outputs

    def forward(self, x: Float[Array2, "batch {self.inputs}"]) -> Float[Array2, "batch {self.outputs}"]:
        self._x = x
        return x @ self.weight

    def backward(self, next_grad: Float[Array2, "batch {self.outputs}"]) -> MapGrad:
        return MapGrad(next_grad @ self.weight.T, self._x.T @ next_grad)


class Doubling(Map[S]):
    def __init__(self, width: int) -> None:
        super().__init__(width, outputs=2 * width)


model = Input(5) >> Doubling(5) >> Linear(5, 2)  # shape: expects 5 features, gets 10
