"""A convolution over time, its shifted copies side by side: they are stacked on an axis of their own."""

import numpy as np
from jaxtyping import Float

from typednn import Array2, Array3


def convolve(x: Float[Array3, "batch time channels"], weight: Float[Array2, "3*channels out"]) -> Float[Array3, "batch time-2 out"]:
    shifts = [x[:, :-2], x[:, 1:-1], x[:, 2:]]
    windows = np.stack(shifts, axis=-1)
    y: Array3 = windows @ weight  # shape: 3
    return y


if __name__ == "__main__":
    print(convolve(np.ones((2, 11, 7)), np.ones((21, 5))).shape)
