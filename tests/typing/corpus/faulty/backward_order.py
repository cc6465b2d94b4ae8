"""A two-layer net whose backward visits the layers in the order of forward."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from typednn import Array2, Gradient, Layer, S
from typednn.layers import Linear, LinearGrad


@dataclass(frozen=True)
class NetGrad(Gradient):
    input: Float[Array2, "batch 4"]
    fc1: LinearGrad
    fc2: LinearGrad


class Net(Layer[Array2, Array2, NetGrad, S]):
    def __init__(self) -> None:
        self.fc1 = Linear(4, 8)
        self.fc2 = Linear(8, 4)

    def forward(self, x: Float[Array2, "batch 4"]) -> Float[Array2, "batch 4"]:
        return self.fc2.forward(self.fc1.forward(x))

    def backward(self, next_grad: Float[Array2, "batch 4"]) -> NetGrad:
        fc1 = self.fc1.backward(next_grad)  # shape: 8
        fc2 = self.fc2.backward(fc1.input)
        return NetGrad(fc1.input, fc1, fc2)


if __name__ == "__main__":
    net = Net().init(np.random.default_rng(0))
    net.backward(net.forward(np.ones((3, 4), np.float32)))
