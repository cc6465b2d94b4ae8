"""A backward that gives the second layer's input gradient as its own."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from typednn import Array2, Gradient, Layer, S
from typednn.layers import Linear, LinearGrad


@dataclass(frozen=True)
class NetGrad(Gradient):
    input: Float[Array2, "batch features"]
    first: LinearGrad
    second: LinearGrad


class Net(Layer[Array2, Array2, NetGrad, S]):
    def __init__(self) -> None:
        self.first, self.second = Linear(4, 8), Linear(8, 2)

    def forward(self, x: Float[Array2, "batch 4"]) -> Float[Array2, "batch 2"]:
        return self.second.forward(self.first.forward(x))

    def backward(self, next_grad: Float[Array2, "batch 2"]) -> NetGrad:
        second = self.second.backward(next_grad)
        first = self.first.backward(second.input)
        return NetGrad(second.input, first, second)  # shape: the gradient's input expects axis 1 to be 4, gets 8


if __name__ == "__main__":
    net = Net().init(np.random.default_rng(0))
    net.backward(net.forward(np.ones((3, 4), np.float32)))
