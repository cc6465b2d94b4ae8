"""Three blocks of 16 features in a loop, and a head that reads 8."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear
from typednn.random import Rng


class Deep:
    def __init__(self, rng: Rng) -> None:
        self.blocks = (Linear(16, 16, rng=rng), Linear(16, 16, rng=rng), Linear(16, 16, rng=rng))
        self.head = Linear(8, 2, rng=rng)

    def forward(self, x: Float[Array2, "batch 16"]) -> Float[Array2, "batch 2"]:
        for block in self.blocks:
            x = block.forward(x)
        return self.head.forward(x)  # shape: expects 8 features, gets 16


if __name__ == "__main__":
    Deep(np.random.default_rng(0)).forward(np.ones((2, 16), np.float32))
