"""Sizes by parameters of a Literal type, one value and two."""

from typing import Literal

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear


def head(classes: Literal[10], rng: np.random.Generator) -> Linear:
    chain = Linear(32, 16, rng=rng) >> (last := Linear(16, classes, rng=rng))
    print(chain.forward(np.ones((2, 32), np.float32)).shape)
    return last


def body(width: Literal[16, 32], rng: np.random.Generator) -> Float[Array2, "rows 4"]:
    first = Linear(8, width, rng=rng)
    second = Linear(width, 4, rng=rng)
    x = np.ones((2, 8), np.float32)
    return second.forward(first.forward(x))


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    print(body(16, rng).shape, body(32, rng).shape, head(10, rng))
