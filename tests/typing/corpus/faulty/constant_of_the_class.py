"""Sizes as constants of the class; the second layer reads a constant that the first does not give."""

from typing import Final

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear
from typednn.random import Rng


class Net:
    FEATURES: Final = 8
    HIDDEN: Final = 16
    NARROW: Final = 12

    def __init__(self, rng: Rng) -> None:
        self.fc1 = Linear(self.FEATURES, self.HIDDEN, rng=rng)
        self.fc2 = Linear(Net.NARROW, 2, rng=rng)

    def forward(self, x: Float[Array2, "batch 8"]) -> Float[Array2, "batch 2"]:
        return self.fc2(self.fc1(x))  # shape: expects 12 features, gets 16


if __name__ == "__main__":
    Net(np.random.default_rng(0)).forward(np.ones((2, 8), np.float32))
