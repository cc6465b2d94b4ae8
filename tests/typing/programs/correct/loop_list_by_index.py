"""Layers put into a list by a loop, and read by index in forward."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear, ReLU
from typednn.random import Rng


class MLP:
    sizes = (8, 32, 16, 4)

    def __init__(self, rng: Rng) -> None:
        self.layers: list[Linear] = []
        for i in range(len(self.sizes) - 1):
            self.layers.append(Linear(self.sizes[i], self.sizes[i + 1], rng=rng))
        self.relu = [ReLU(), ReLU()]

    def forward(self, x: Float[Array2, "batch 8"]) -> Float[Array2, "batch 4"]:
        h = self.relu[0].forward(self.layers[0].forward(x))
        h = self.relu[1].forward(self.layers[1].forward(h))
        return self.layers[2].forward(h)


if __name__ == "__main__":
    print(MLP(np.random.default_rng(0)).forward(np.zeros((2, 8), np.float32)).shape)
