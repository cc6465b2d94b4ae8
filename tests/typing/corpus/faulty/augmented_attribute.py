"""A constructor doubles the width and builds the second layer with the old one."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from typednn import Array2, Gradient, Layer, S
from typednn.layers import Linear, LinearGrad


@dataclass(frozen=True)
class NetGrad(Gradient):
    input: Float[Array2, "batch 8"]
    fc1: LinearGrad
    fc2: LinearGrad


class Net(Layer[Array2, Array2, NetGrad, S]):
    def __init__(self) -> None:
        width = 16
        self.width = 2 * width
        self.fc1 = Linear(8, self.width)
        self.fc2 = Linear(width, 2)

    def forward(self, x: Float[Array2, "batch 8"]) -> Float[Array2, "batch 2"]:
        return self.fc2.forward(self.fc1.forward(x))  # shape: expects 16 features, gets 32

    def backward(self, next_grad: Float[Array2, "batch 2"]) -> NetGrad:
        fc2 = self.fc2.backward(next_grad)
        fc1 = self.fc1.backward(fc2.input)  # shape: 32
        return NetGrad(fc1.input, fc1, fc2)


if __name__ == "__main__":
    Net().init(np.random.default_rng(0)).forward(np.ones((2, 8), np.float32))
