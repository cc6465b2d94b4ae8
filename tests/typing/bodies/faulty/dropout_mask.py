"""Dropout of features: the mask is drawn for the rows only."""

import numpy as np
from jaxtyping import Float

from typednn import Array2


class Drop:
    def __init__(self, rate: float) -> None:
        self.rate = rate

    def forward(self, x: Float[Array2, "batch features"], rng: np.random.Generator) -> Float[Array2, "batch features"]:
        keep = rng.random(x.shape[0]) >= self.rate
        y: Array2 = x * keep / (1.0 - self.rate)  # shape: features batch
        return y


if __name__ == "__main__":
    print(Drop(0.5).forward(np.ones((7, 5)), np.random.default_rng(0)).shape)
