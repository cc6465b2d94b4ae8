"""Layers that are replaced after __init__: a new head on a body, a layer set by name, one deleted."""

import copy

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear
from typednn.random import Rng


class Net:
    def __init__(self, rng: Rng) -> None:
        self.body = Linear(8, 16, rng=rng)
        self.head = Linear(16, 10, rng=rng)
        for index, width in enumerate((3, 4)):
            setattr(self, f"extra{index}", Linear(width, width, rng=rng))

    def fine_tune(self, classes: int, rng: Rng) -> None:
        self.head = Linear(16, classes, rng=rng)

    def forward(self, x: Float[Array2, "batch 8"]) -> Float[Array2, "batch classes"]:
        return self.head.forward(self.body.forward(x))


def shrink(net: Net, rng: Rng) -> Net:
    small = copy.copy(net)
    small.body = Linear(8, 5, rng=rng)
    small.head = Linear(5, 2, rng=rng)
    return small


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    net, x = Net(rng), np.ones((2, 8), np.float32)
    net.fine_tune(3, rng)
    print(net.forward(x).shape, shrink(net, rng).forward(x).shape)
