"""A preset whose features are not those of the rows it is given."""

from typing import Self

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear, ReLU
from typednn.random import Rng


class Net:
    def __init__(self, features: int, hidden: int, classes: int, rng: Rng) -> None:
        self.features, self.classes = features, classes
        self.fc1 = Linear(features, hidden, rng=rng)
        self.relu = ReLU()
        self.fc2 = Linear(hidden, classes, rng=rng)

    @classmethod
    def small(cls, rng: Rng) -> Self:
        return cls(16, 8, 3, rng)

    @classmethod
    def large(cls, rng: Rng) -> Self:
        return cls(64, 128, 3, rng)

    def forward(self, x: Float[Array2, "batch {self.features}"]) -> Float[Array2, "batch {self.classes}"]:
        return self.fc2(self.relu(self.fc1(x)))


def predict(x: Float[Array2, "batch 64"]) -> Float[Array2, "batch 3"]:
    net = Net.small(np.random.default_rng(0))  # shape
    return net.forward(x)  # meets


if __name__ == "__main__":
    print(predict(np.zeros((5, 64), np.float32)).shape)
