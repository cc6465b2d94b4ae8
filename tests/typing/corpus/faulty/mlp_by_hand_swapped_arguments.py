"""An MLP as a Layer builds its second layer with the sizes the wrong way round: known whatever they are."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from typednn import Array2, Gradient, Layer, S
from typednn.layers import Linear, LinearGrad, ReLU


@dataclass(frozen=True)
class MLPGrad(Gradient):
    input: Float[Array2, "batch 16"]
    first: LinearGrad
    second: LinearGrad


class MLP(Layer[Array2, Array2, MLPGrad, S]):
    def __init__(self) -> None:
        self.first = Linear(16, 64)
        self.relu = ReLU()
        self.second = Linear(10, 64)

    def forward(self, x: Float[Array2, "batch 16"]) -> Float[Array2, "batch 64"]:
        h = self.relu(self.first(x))
        return self.second(h)  # shape: expects 10 features, gets 64

    def backward(self, next_grad: Float[Array2, "batch 64"]) -> MLPGrad:
        second = self.second.backward(next_grad)
        first = self.first.backward(self.relu.backward(second.input).input)  # shape: 64
        return MLPGrad(first.input, first, second)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    MLP().init(rng).forward(rng.standard_normal((3, 16)).astype(np.float32))
