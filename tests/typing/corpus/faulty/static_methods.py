"""A static method and a call by keyword; the code is wider than the method's rows."""

import numpy as np
from jaxtyping import Float

from typednn import Array1, Array2
from typednn.layers import Linear
from typednn.random import Rng


class Scorer:
    def __init__(self, rng: Rng) -> None:
        self.encode = Linear(10, 6, rng=rng)

    @staticmethod
    def energy(code: Float[Array2, "batch 5"]) -> Float[Array1, " batch"]:
        """It runs all the same: a row has a sum whatever its length."""
        sums: Array1 = (code**2).sum(axis=1)
        return sums

    def score(self, x: Float[Array2, "batch 10"]) -> Float[Array1, " batch"]:
        code = self.encode.forward(x=x)
        return self.energy(code=code)  # shape: 6


if __name__ == "__main__":
    print(Scorer(np.random.default_rng(0)).score(np.ones((2, 10), np.float32)).shape)
