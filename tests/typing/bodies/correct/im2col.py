"""Convolution by im2col."""

import numpy as np
from jaxtyping import Float

from typednn import Array3, Array4


def columns(x: Float[Array4, "batch height width channels"]) -> Float[Array3, "batch (height-2)*(width-2) 9*channels"]:
    batch, height, width, channels = x.shape
    rows, cols = height - 2, width - 2
    windows = [x[:, i : i + height - 2, j : j + width - 2] for i in range(3) for j in range(3)]
    return np.concatenate(windows, axis=3).reshape(batch, rows * cols, 9 * channels)


if __name__ == "__main__":
    print(columns(np.ones((2, 7, 11, 5))).shape)
