"""Widths that are multiples of one the caller gives."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear


class Net:
    def __init__(self, hidden: int, rng: np.random.Generator) -> None:
        self.fc1 = Linear(784, 2 * hidden, rng=rng)
        self.fc2 = Linear(hidden * 2, 3 * hidden, rng=rng)
        self.fc3 = Linear(hidden + 2 * hidden, 10, rng=rng)

    def forward(self, x: Float[Array2, "batch 784"]) -> Float[Array2, "batch 10"]:
        return self.fc3(self.fc2(self.fc1(x)))


if __name__ == "__main__":
    Net(6, np.random.default_rng(0)).forward(np.zeros((3, 784), np.float32))
