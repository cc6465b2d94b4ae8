"""A net with ten scores whose backward takes a gradient of twelve."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from typednn import Array2, Gradient, Layer, S
from typednn.layers import Linear, LinearGrad


@dataclass(frozen=True)
class NetGrad(Gradient):
    input: Float[Array2, "batch 4"]
    fc: LinearGrad


class Net(Layer[Array2, Array2, NetGrad, S]):
    def __init__(self) -> None:
        self.fc = Linear(4, 10)

    def forward(self, x: Float[Array2, "batch 4"]) -> Float[Array2, "batch 10"]:
        return self.fc.forward(x)

    def backward(self, next_grad: Float[Array2, "batch 12"]) -> NetGrad:
        fc = self.fc.backward(next_grad)  # shape: 12
        return NetGrad(fc.input, fc)


if __name__ == "__main__":
    net = Net().init(np.random.default_rng(0))
    net.backward(net.forward(np.ones((3, 4), np.float32)))
