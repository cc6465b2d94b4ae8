"""Sinusoidal positions added to a sequence."""

import numpy as np
from jaxtyping import Float

from typednn import Array3


class Positions:
    def __init__(self, features: int) -> None:
        self.features = features

    def forward(self, x: Float[Array3, "batch time {self.features}"]) -> Float[Array3, "batch time {self.features}"]:
        rates = 10000.0 ** (-np.arange(0, self.features, 2) / self.features)
        angles = np.arange(x.shape[1])[:, None] * rates[None, :]
        table = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
        y: Array3 = x + table
        return y


if __name__ == "__main__":
    print(Positions(10).forward(np.ones((2, 7, 10))).shape)
