"""A generic box whose layer reads other features than it is given."""

from typing import Generic, TypeVar

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear

L = TypeVar("L")


class Box(Generic[L]):
    def __init__(self, layer: L, name: str) -> None:
        self.layer = layer
        self.name = name


rng = np.random.default_rng(0)
tower = Box(Linear(50, 12, rng=rng), "tower")
head = Box(Linear(24, 1, rng=rng), "head")  # shape


def same(a: Float[Array2, "batch 50"], b: Float[Array2, "batch 50"]) -> Float[Array2, "batch 1"]:
    left = tower.layer.forward(a)
    right = tower.layer.forward(b)
    return head.layer.forward(left * right)  # meets


if __name__ == "__main__":
    x = np.ones((3, 50), np.float32)
    print(same(x, 2 * x).shape, tower.name, head.name)
