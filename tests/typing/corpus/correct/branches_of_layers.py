"""Branches that assign different layers and sizes to one name."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear, ReLU, Tanh
from typednn.random import Rng


class Switch:
    def __init__(self, deep: bool, rng: Rng) -> None:
        self.act = Tanh() if deep else ReLU()
        if deep:
            self.body = Linear(8, 32, rng=rng)
            hidden = 32
        else:
            self.body = Linear(8, 16, rng=rng)
            hidden = 16
        self.head = Linear(hidden, 2, rng=rng)
        self.deep = deep

    def forward(self, x: Float[Array2, "batch 8"]) -> Float[Array2, "batch 2"]:
        h = self.body(x)
        h = self.act(h) if self.deep else h
        return self.head(h)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    for deep in (False, True):
        print(Switch(deep, rng).forward(np.ones((2, 8), np.float32)).shape)
