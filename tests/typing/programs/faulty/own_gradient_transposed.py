"""A linear layer of one's own multiplies its weight's derivative the wrong way round."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from typednn import Array2, Gradient, Input, Kept, Layer, Parameter, S
from typednn.layers import Tanh


@dataclass(frozen=True, slots=True)
class DenseGrad(Gradient):
    input: Float[Array2, "batch inputs"]
    weight: Float[Array2, "outputs inputs"]


class Dense(Layer[Array2, Array2, DenseGrad, S]):
    weight: Parameter[Float[Array2, "{self.outputs} {self.inputs}"]]
    _x: Kept[Float[Array2, "batch {self.inputs}"]]

    def __init__(self, inputs: int, outputs: int) -> None:
        self.inputs, self.outputs = inputs, outputs

    def forward(self, x: Float[Array2, "batch {self.inputs}"]) -> Float[Array2, "batch {self.outputs}"]:
        self._x = x
        return x @ self.weight.T

    def backward(self, next_grad: Float[Array2, "batch {self.outputs}"]) -> DenseGrad:
        return DenseGrad(next_grad @ self.weight, self._x.T @ next_grad)  # shape


model = Input(5) >> Dense(5, 9) >> Tanh() >> Dense(9, 2)

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model.init(rng)
    scores = model.forward(rng.random((4, 5)).astype(np.float32))
    print(model.backward(scores).input.shape)
