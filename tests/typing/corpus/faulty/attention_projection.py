"""Attention by hand in a plain class; keys are projected to 32 features and queries to 64; NumPy refuses it."""

import numpy as np
from jaxtyping import Float

from typednn import Array3
from typednn.layers import Linear, PerPosition
from typednn.random import Rng


def scores(q: Float[Array3, "batch query size"], k: Float[Array3, "batch key size"]) -> Float[Array3, "batch query key"]:
    return q @ k.transpose(0, 2, 1)


class Attention:
    def __init__(self, rng: Rng) -> None:
        self.q = PerPosition(Linear(64, 64, rng=rng))
        self.k = PerPosition(Linear(64, 32, rng=rng))

    def forward(self, x: Float[Array3, "batch time 64"]) -> Float[Array3, "batch time time"]:
        q = self.q.forward(x)
        k = self.k.forward(x)
        return scores(q, k)  # shape: 32


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    Attention(rng).forward(rng.standard_normal((2, 5, 64)).astype(np.float32))
