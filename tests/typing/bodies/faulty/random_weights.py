"""A projection whose weights a generator draws: rows and columns are swapped."""

import numpy as np
from jaxtyping import Float

from typednn import Array2


class Projection:
    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.weight: Array2 = self.rng.standard_normal((4, 3))

    def apply(self, x: Float[Array2, "batch 3"]) -> Float[Array2, "batch 4"]:
        y: Array2 = x @ self.weight  # shape: 3 columns 4 rows
        return y


if __name__ == "__main__":
    print(Projection(0).apply(np.ones((5, 3))).shape)
