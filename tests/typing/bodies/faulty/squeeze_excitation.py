"""Channels scaled by gates of the whole image: the gates get one new axis instead of two."""

import numpy as np
from jaxtyping import Float

from typednn import Array2, Array4


def excite(
    x: Float[Array4, "batch height width channels"], w: Float[Array2, "channels channels"]
) -> Float[Array4, "batch height width channels"]:
    gates = 1.0 / (1.0 + np.exp(-(x.mean(axis=(1, 2)) @ w)))
    y: Array4 = x * gates[:, None]  # shape: width batch
    return y


if __name__ == "__main__":
    print(excite(np.ones((2, 5, 7, 3)), np.ones((3, 3))).shape)
