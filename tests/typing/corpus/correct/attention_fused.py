"""Attention with one map for queries, keys and values, split by NumPy, as a plain class."""

import numpy as np
from jaxtyping import Float

from typednn import AnyArray, Array3
from typednn.layers import Linear, PerPosition
from typednn.random import Rng


class Attention:
    def __init__(self, features: int, heads: int, rng: Rng) -> None:
        self.features, self.heads = features, heads
        self.qkv = PerPosition(Linear(features, 3 * features, rng=rng))
        self.out = PerPosition(Linear(features, features, rng=rng))

    def split(self, x: Float[Array3, "batch time {self.features}"]) -> Float[AnyArray, "batch {self.heads} time size"]:
        batch, time, _ = x.shape
        return x.reshape(batch, time, self.heads, -1).transpose(0, 2, 1, 3)

    def forward(
        self, x: Float[Array3, "batch time {self.features}"], mask: Float[AnyArray, "time time"] | None = None
    ) -> Float[Array3, "batch time {self.features}"]:
        q, k, v = (self.split(part) for part in np.split(self.qkv.forward(x), 3, axis=-1))
        scores = q @ k.swapaxes(-1, -2)
        if mask is not None:
            scores = scores + mask
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights = weights / weights.sum(axis=-1, keepdims=True)
        mixed = (weights @ v).transpose(0, 2, 1, 3).reshape(x.shape)
        return x + self.out.forward(mixed)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    attention, x = Attention(12, 3, rng), np.ones((2, 5, 12), np.float32)
    print(attention.forward(x).shape, attention.forward(x, np.triu(np.full((5, 5), -np.inf, np.float32), 1)).shape)
