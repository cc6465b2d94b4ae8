"""Both branches give 16 features, and what follows reads 32."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear
from typednn.random import Rng


class Switch:
    def __init__(self, rng: Rng) -> None:
        self.left = Linear(8, 16, rng=rng)
        self.right = Linear(8, 16, rng=rng)
        self.head = Linear(32, 2, rng=rng)

    def forward(self, x: Float[Array2, "batch 8"], deep: bool) -> Float[Array2, "batch 2"]:
        if deep:
            h = self.left(x)
        else:
            x = 2.0 * x
            h = self.right(x)
        return self.head(h)  # shape: expects 32 features, gets 16


if __name__ == "__main__":
    Switch(np.random.default_rng(0)).forward(np.ones((2, 8), np.float32), deep=True)
