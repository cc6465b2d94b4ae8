"""One list under two names, inside another list, and under an attribute."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear

rng = np.random.default_rng(0)


class Net:
    def __init__(self) -> None:
        self.layers = [Linear(4, 8, rng=rng)]
        layers = self.layers
        layers.append(Linear(8, 2, rng=rng))

    def forward(self, x: Float[Array2, "batch 4"]) -> Float[Array2, "batch 2"]:
        for layer in self.layers:
            x = layer.forward(x)
        return x


def chained(x: Float[Array2, "batch 4"]) -> Float[Array2, "batch 2"]:
    a = b = [Linear(4, 8, rng=rng)]
    a.append(Linear(8, 2, rng=rng))
    for layer in b:
        x = layer.forward(x)
    return x


def nested(x: Float[Array2, "batch 4"]) -> Float[Array2, "batch 2"]:
    first = [Linear(4, 8, rng=rng)]
    groups = [first]
    groups[0].append(Linear(8, 2, rng=rng))
    for layer in first:
        x = layer.forward(x)
    return x


def bound(x: Float[Array2, "batch 4"]) -> Float[Array2, "batch 2"]:
    layers = [Linear(4, 8, rng=rng)]
    add = layers.append
    add(Linear(8, 2, rng=rng))
    for layer in layers:
        x = layer.forward(x)
    return x


if __name__ == "__main__":
    x = np.ones((2, 4), np.float32)
    print(Net().forward(x).shape, chained(x).shape, nested(x).shape, bound(x).shape)
