"""Loops over blocks: equal ones in a list and a tuple, and unequal ones that narrow."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear, ReLU
from typednn.random import Rng


class Deep:
    def __init__(self, rng: Rng, depth: int = 3) -> None:
        self.blocks = [(Linear(16, 16) >> ReLU()).init(rng) for _ in range(depth)]
        self.pair = (Linear(16, 16, rng=rng), Linear(16, 16, rng=rng))
        self.narrowing = [Linear(16, 8, rng=rng), Linear(8, 4, rng=rng), Linear(4, 2, rng=rng)]
        self.triple = (Linear(2, 3, rng=rng), Linear(3, 5, rng=rng), Linear(5, 7, rng=rng))

    def forward(self, x: Float[Array2, "batch 16"]) -> Float[Array2, "batch 7"]:
        for block in self.blocks:
            x = x + block.forward(x)
        for layer in self.pair:
            x = layer.forward(x)
        for layer in self.narrowing:
            x = layer.forward(x)
        for index in range(3):
            x = self.triple[index].forward(x)
        return x


if __name__ == "__main__":
    print(Deep(np.random.default_rng(0)).forward(np.ones((2, 16), np.float32)).shape)
