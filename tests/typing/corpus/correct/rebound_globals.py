"""Layers of a module that are bound anew, after the functions that use them were defined and before they are called."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear

rng = np.random.default_rng(0)
fc = Linear(3, 4, rng=rng)
head = Linear(5, 2, rng=rng)


def forward(x: Float[Array2, "batch 3"]) -> Float[Array2, "batch 2"]:
    return head.forward(fc.forward(x))


def widen() -> None:
    global fc
    fc = Linear(3, 5, rng=rng)


def counter() -> Float[Array2, "batch 5"]:
    h = np.ones((2, 3), np.float32)

    def advance(layer: Linear) -> None:
        nonlocal h
        h = layer.forward(h)

    advance(Linear(3, 9, rng=rng))
    advance(Linear(9, 5, rng=rng))
    return h


if __name__ == "__main__":
    widen()
    print(forward(np.ones((2, 3), np.float32)).shape, counter().shape)
