"""A plain two-layer model that learns by a mixin's method."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear, ReLU
from typednn.optim import SGD


class Learning:
    fc1: Linear
    fc2: Linear
    relu: ReLU

    def learn(self, next_grad: Float[Array2, "batch 3"], lr: float) -> None:
        optimizer = SGD(lr=lr)
        fc2 = self.fc2.backward(next_grad)
        hidden = self.relu.backward(fc2.input)
        fc1 = self.fc1.backward(hidden.input)
        self.fc1.update(optimizer, fc1)
        self.fc2.update(optimizer, fc2)


class Net(Learning):
    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.fc1 = Linear(6, 12, rng=rng)
        self.relu = ReLU()
        self.fc2 = Linear(12, 3, rng=rng)

    def forward(self, x: Float[Array2, "batch 6"]) -> Float[Array2, "batch 3"]:
        return self.fc2.forward(self.relu.forward(self.fc1.forward(x)))


if __name__ == "__main__":
    net = Net()
    net.learn(net.forward(np.ones((2, 6), np.float32)), lr=0.1)
