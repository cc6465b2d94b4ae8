"""Sizes as constants of the class, one of them overridden in a subclass."""

from typing import ClassVar

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear
from typednn.random import Rng


class Net:
    FEATURES: ClassVar[int] = 8
    hidden = 16

    def __init__(self, rng: Rng) -> None:
        self.fc1 = Linear(self.FEATURES, self.hidden, rng=rng)
        self.fc2 = Linear(self.hidden, 2, rng=rng)

    def forward(self, x: Float[Array2, "batch {self.FEATURES}"]) -> Float[Array2, "batch 2"]:
        return self.fc2(self.fc1(x))


class Wider(Net):
    FEATURES = 9
    hidden = 40


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    print(Net(rng).forward(np.ones((2, 8), np.float32)).shape, Wider(rng).forward(np.ones((2, 9), np.float32)).shape)
