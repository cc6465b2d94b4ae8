"""A plain model updates its first layer with the second's gradient."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear, ReLU
from typednn.optim import SGD
from typednn.random import Rng


class Net:
    def __init__(self, rng: Rng) -> None:
        self.fc1 = Linear(6, 12, rng=rng)
        self.relu = ReLU()
        self.fc2 = Linear(12, 3, rng=rng)
        self.optimizer = SGD(lr=0.1)

    def forward(self, x: Float[Array2, "batch 6"]) -> Float[Array2, "batch 3"]:
        return self.fc2.forward(self.relu.forward(self.fc1.forward(x)))

    def learn(self, next_grad: Float[Array2, "batch 3"]) -> None:
        fc2 = self.fc2.backward(next_grad)
        fc1 = self.fc1.backward(self.relu.backward(fc2.input).input)
        self.fc1.update(self.optimizer, fc2)  # shape: 12
        self.fc2.update(self.optimizer, fc1)  # shape: 12


if __name__ == "__main__":
    net = Net(np.random.default_rng(0))
    net.learn(net.forward(np.ones((4, 6), np.float32)))
