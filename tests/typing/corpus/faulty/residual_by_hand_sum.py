"""A residual sum by hand of 12 features and 13; NumPy refuses it."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear

project = Linear(12, 13, rng=np.random.default_rng(0))


def block(x: Float[Array2, "batch 12"]) -> Float[Array2, "batch 12"]:
    h = project(x)
    return x + h  # shape: 13


if __name__ == "__main__":
    block(np.ones((3, 12), np.float32))
