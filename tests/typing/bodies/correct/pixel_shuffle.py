"""Channels become pixels of a larger image."""

import numpy as np
from jaxtyping import Float

from typednn import Array4


def shuffle(x: Float[Array4, "batch height width 4*channels"]) -> Float[Array4, "batch 2*height 2*width channels"]:
    batch, height, width, channels = x.shape
    blocks = x.reshape(batch, height, width, 2, 2, channels // 4).transpose(0, 1, 3, 2, 4, 5)
    return blocks.reshape(batch, 2 * height, 2 * width, channels // 4)


if __name__ == "__main__":
    print(shuffle(np.ones((2, 5, 7, 12))).shape)
