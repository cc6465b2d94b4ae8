"""A constructor reads a property, which gives twice the width; the layer after it reads three times the width."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear


class Net:
    def __init__(self, width: int) -> None:
        self.width = width
        self.fc1 = Linear(4, self.inner)
        self.fc2 = Linear(3 * width, 2)

    @property
    def inner(self) -> int:
        return 2 * self.width

    def forward(self, x: Float[Array2, "batch 4"]) -> Float[Array2, "batch 2"]:
        return self.fc2(self.fc1(x))  # shape: expects 3*self.width features, gets 2*self.width


if __name__ == "__main__":
    net = Net(8)
    net.fc1.init(np.random.default_rng(0))
    net.fc2.init(np.random.default_rng(0))
    net.forward(np.zeros((3, 4), np.float32))
