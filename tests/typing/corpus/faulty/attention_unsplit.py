"""Attention with one map for queries, keys and values, whose result is given to the last map unsplit."""

import numpy as np
from jaxtyping import Float

from typednn import Array3
from typednn.layers import Linear, PerPosition
from typednn.random import Rng


class Attention:
    def __init__(self, rng: Rng) -> None:
        self.qkv = PerPosition(Linear(12, 36, rng=rng))
        self.out = PerPosition(Linear(12, 12, rng=rng))

    def forward(self, x: Float[Array3, "batch time 12"]) -> Float[Array3, "batch time 12"]:
        mixed = self.qkv.forward(x)
        return x + self.out.forward(mixed)  # shape: expects 12 features, gets 36


if __name__ == "__main__":
    Attention(np.random.default_rng(0)).forward(np.ones((2, 5, 12), np.float32))
