"""One of two ways of pooling joins two halves, and the head reads one."""

from typing import Literal

import numpy as np
from jaxtyping import Float

from typednn import Array2, Array3
from typednn.layers import GRU, LastStep, Linear
from typednn.random import Rng


class Sentences:
    def __init__(self, pooling: Literal["last", "both"], rng: Rng) -> None:
        self.pooling = pooling
        self.gru = GRU(12, 20, rng=rng)
        self.last = LastStep()
        if pooling == "both":
            self.head = Linear(20, 3, rng=rng)  # shape
        else:
            self.head = Linear(20, 3, rng=rng)

    def forward(self, x: Float[Array3, "batch time 12"]) -> Float[Array2, "batch 3"]:
        states = self.gru.forward(x)
        pooled: Array2 = self.last.forward(states)
        if self.pooling == "both":
            pooled = np.concatenate([pooled, states.mean(axis=1)], axis=1)
        return self.head.forward(pooled)  # meets


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    x = rng.random((2, 5, 12)).astype(np.float32)
    print(Sentences("last", rng).forward(x).shape, Sentences("both", rng).forward(x).shape)
