"""A model whose method exchanges two layers for narrower ones, then uses them."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear
from typednn.random import Rng


class Net:
    def __init__(self, rng: Rng) -> None:
        self.first = Linear(8, 16, rng=rng)
        self.second = Linear(16, 2, rng=rng)

    def prune(self, rng: Rng) -> None:
        self.first = Linear(8, 4, rng=rng)
        self.second = Linear(4, 2, rng=rng)

    def forward(self, x: Float[Array2, "batch 8"]) -> Float[Array2, "batch 2"]:
        h = self.first.forward(x)
        return self.second.forward(h)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    net = Net(rng)
    net.prune(rng)
    print(net.forward(np.ones((2, 8), np.float32)).shape)
