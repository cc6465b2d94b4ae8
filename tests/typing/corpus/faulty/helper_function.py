"""A helper with annotated arrays, given the wrong ones by its caller."""

import numpy as np
from jaxtyping import Float

from typednn import Array2, Array4
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d

rng = np.random.default_rng(0)
conv, pool, flatten, fc = Conv2d(1, 4, 3, rng=rng), MaxPool2d(2), Flatten(), Linear(36, 2, rng=rng)


def rows(images: Float[Array4, "batch 3 3 4"]) -> Float[Array2, "batch 36"]:
    """It runs all the same: what comes has as many numbers."""
    return flatten.forward(images.reshape(-1, 3, 3, 4))


def forward(x: Float[Array4, "batch 14 14 1"]) -> Float[Array2, "batch 2"]:
    h = pool.forward(conv.forward(x))
    return fc.forward(rows(h))  # shape: 6


if __name__ == "__main__":
    print(forward(np.ones((2, 14, 14, 1), np.float32)).shape)
