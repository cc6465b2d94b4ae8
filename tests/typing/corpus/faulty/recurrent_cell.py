"""A recurrent cell: its state map gives 24 features, and the next state has 32."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear
from typednn.random import Rng


class Cell:
    def __init__(self, rng: Rng) -> None:
        self.read = Linear(8, 24, rng=rng)
        self.keep = Linear(32, 24, rng=rng)

    def step(self, x: Float[Array2, "batch 8"], state: Float[Array2, "batch 32"]) -> Float[Array2, "batch 32"]:
        """It runs all the same, for one step: nothing checks a plain function."""
        new = self.read.forward(x) + self.keep.forward(state)
        return np.tanh(new)  # shape: 24


if __name__ == "__main__":
    Cell(np.random.default_rng(0)).step(np.ones((2, 8), np.float32), np.zeros((2, 32), np.float32))
