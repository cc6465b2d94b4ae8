"""A model with properties for the sizes between its layers."""

import numpy as np
from jaxtyping import Float

from typednn import Array2, Array4
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d
from typednn.random import Rng


class Digits:
    def __init__(self, side: int, channels: int, rng: Rng) -> None:
        self.side, self.channels = side, channels
        self.conv = Conv2d(1, channels, 3, padding=1, rng=rng)
        self.pool, self.flatten = MaxPool2d(2), Flatten()
        self.fc = Linear(self.flat, 10, rng=rng)

    @property
    def pooled(self) -> int:
        return self.side // 2

    @property
    def flat(self) -> int:
        return self.pooled**2 * self.channels

    def forward(self, x: Float[Array4, "batch {self.side} {self.side} 1"]) -> Float[Array2, "batch 10"]:
        return self.fc.forward(self.flatten.forward(self.pool.forward(self.conv.forward(x))))


def scores(x: Float[Array4, "batch 28 28 1"]) -> Float[Array2, "batch 10"]:
    return Digits(28, 6, np.random.default_rng(0)).forward(x)


if __name__ == "__main__":
    print(scores(np.zeros((2, 28, 28, 1), np.float32)).shape)
