"""Gradients of two layers in each other's place, where all sizes are parameters of the constructor."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from typednn import Array2, Gradient, Layer, S
from typednn.layers import Linear, LinearGrad, ReLU
from typednn.optim import SGD


@dataclass(frozen=True)
class NetGrad(Gradient):
    input: Float[Array2, "batch features"]
    fc1: LinearGrad
    fc2: LinearGrad


class Net(Layer[Array2, Array2, NetGrad, S]):
    def __init__(self, inputs: int, hidden: int, outputs: int) -> None:
        self.inputs, self.outputs = inputs, outputs
        self.fc1 = Linear(inputs, hidden)
        self.relu = ReLU()
        self.fc2 = Linear(hidden, outputs)

    def forward(self, x: Float[Array2, "batch {self.inputs}"]) -> Float[Array2, "batch {self.outputs}"]:
        return self.fc2.forward(self.relu.forward(self.fc1.forward(x)))

    def backward(self, next_grad: Float[Array2, "batch {self.outputs}"]) -> NetGrad:
        fc2 = self.fc2.backward(next_grad)
        fc1 = self.fc1.backward(self.relu.backward(fc2.input).input)
        return NetGrad(fc1.input, fc2, fc1)  # shape: fc1


if __name__ == "__main__":
    net = Net(4, 8, 2).init(np.random.default_rng(0))
    grad = net.backward(net.forward(np.ones((3, 4), np.float32)))
    net.update(SGD(lr=0.1), grad)
