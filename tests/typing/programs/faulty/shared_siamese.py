"""A siamese model whose second tower, shared, is given another size."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear, ReLU
from typednn.random import Rng


class Siamese:
    def __init__(self, features: int, rng: Rng) -> None:
        self.left = (Linear(features, 32) >> ReLU()).init(rng)
        self.right = self.left.shared()
        self.head = Linear(32, 1, rng=rng)  # shape

    def forward(self, a: Float[Array2, "batch features"], b: Float[Array2, "batch features"]) -> Float[Array2, "batch 1"]:
        both = np.concatenate([self.left.forward(a), self.right.forward(b)], axis=1)
        return self.head.forward(both)  # meets


if __name__ == "__main__":
    x = np.ones((2, 10), np.float32)
    print(Siamese(10, np.random.default_rng(0)).forward(x, x).shape)
