"""A plain model with its own training step: forward, loss, backward, an update of each layer."""

import numpy as np
from jaxtyping import Float, Integer

from typednn import Array2, IntArray1, Optimizer
from typednn.layers import Linear, ReLU
from typednn.losses import SoftmaxCrossEntropy
from typednn.optim import SGD
from typednn.random import Rng


class Net:
    def __init__(self, rng: Rng) -> None:
        self.fc1 = Linear(6, 12, rng=rng)
        self.relu = ReLU()
        self.fc2 = Linear(12, 3, rng=rng)

    def forward(self, x: Float[Array2, "batch 6"]) -> Float[Array2, "batch 3"]:
        return self.fc2.forward(self.relu.forward(self.fc1.forward(x)))

    def learn(self, optimizer: Optimizer, next_grad: Float[Array2, "batch 3"]) -> Float[Array2, "batch 6"]:
        fc2 = self.fc2.backward(next_grad)
        fc1 = self.fc1.backward(self.relu.backward(fc2.input).input)
        self.fc1.update(optimizer, fc1)
        self.fc2.update(optimizer, fc2)
        return fc1.input


loss = SoftmaxCrossEntropy()


def train(net: Net, x: Float[Array2, "batch 6"], labels: Integer[IntArray1, " batch"], steps: int) -> float:
    optimizer = SGD(lr=0.1)
    for _ in range(steps):
        scores = net.forward(x)
        net.learn(optimizer, loss.loss_grad(scores, labels))
    return loss.loss(net.forward(x), labels)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    print(train(Net(rng), rng.standard_normal((4, 6)).astype(np.float32), np.array([0, 1, 2, 0]), 3))
