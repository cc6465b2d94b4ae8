"""A square layer as a subclass of one's own layer, by super().__init__(width, width)."""

from dataclasses import dataclass

import numpy as np
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


class Square(Map[S]):
    def __init__(self, width: int) -> None:
        super().__init__(width, width)


class Doubling(Map[S]):
    def __init__(self, width: int) -> None:
        super().__init__(width, outputs=2 * width)


model = Input(5) >> Square(5) >> Doubling(5) >> Square(10) >> Linear(10, 2)

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    print(model.init(rng).forward(np.ones((2, 5), np.float32)).shape)
