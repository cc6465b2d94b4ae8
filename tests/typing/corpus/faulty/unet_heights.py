"""A U-net that joins what was pooled with what was not: 8 rows and 16; NumPy refuses it."""

import numpy as np
from jaxtyping import Float

from typednn import Array4
from typednn.layers import Conv2d, MaxPool2d, Pad2d

rng = np.random.default_rng(0)
pad, conv, pool = Pad2d(1), Conv2d(1, 4, 3, rng=rng), MaxPool2d(2)


def joined(
    x: Float[Array4, "batch height width left"], y: Float[Array4, "batch height width right"]
) -> Float[Array4, "batch height width left+right"]:
    return np.concatenate([x, y], axis=3)


def forward(x: Float[Array4, "batch 16 16 1"]) -> Float[Array4, "batch 16 16 8"]:
    skip = conv.forward(pad.forward(x))
    h = pool.forward(skip)
    return joined(skip, h)  # shape: 8


if __name__ == "__main__":
    forward(np.ones((2, 16, 16, 1), np.float32))
