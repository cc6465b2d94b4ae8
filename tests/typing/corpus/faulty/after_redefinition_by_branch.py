"""A conditional second layer keeps 16 features either way, and the head reads 32."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear
from typednn.random import Rng


class Net:
    extra: Linear | None

    def __init__(self, rng: Rng, deep: bool = True) -> None:
        self.fc = Linear(8, 16, rng=rng)
        self.extra = Linear(16, 16, rng=rng) if deep else None
        self.head = Linear(32, 2, rng=rng)

    def forward(self, x: Float[Array2, "batch 8"]) -> Float[Array2, "batch 2"]:
        h = self.fc.forward(x)
        if self.extra is not None:
            h = self.extra.forward(h)
        return self.head.forward(h)  # shape: expects 32 features, gets 16


if __name__ == "__main__":
    Net(np.random.default_rng(0)).forward(np.ones((2, 8), np.float32))
