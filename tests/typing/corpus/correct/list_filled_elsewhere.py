"""A list of layers that a function lengthens, and one that grows itself."""

from typing import Any

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear

rng = np.random.default_rng(0)


def finish(layers: list[Linear[Any]]) -> None:
    layers.append(Linear(8, 2, rng=rng))


def handed(x: Float[Array2, "batch 4"]) -> Float[Array2, "batch 2"]:
    layers: list[Linear[Any]] = [Linear(4, 8, rng=rng)]
    finish(layers)
    for layer in layers:
        x = layer.forward(x)
    return x


def grown(x: Float[Array2, "batch 4"]) -> Float[Array2, "batch 2"]:
    layers = [Linear(4, 8, rng=rng)]
    layers.append(Linear(8, 2, rng=rng))
    for layer in layers:
        x = layer.forward(x)
    return x


if __name__ == "__main__":
    x = np.ones((2, 4), np.float32)
    print(handed(x).shape, grown(x).shape)
