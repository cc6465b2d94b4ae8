"""A depthwise convolution over time."""

import numpy as np
from jaxtyping import Float

from typednn import Array2, Array3


def depthwise(x: Float[Array3, "batch time channels"], weight: Float[Array2, "3 channels"]) -> Float[Array3, "batch time-2 channels"]:
    steps = x.shape[1] - 2
    y: Array3 = np.zeros((x.shape[0], steps, x.shape[2]))
    for t in range(3):
        y += x[:, t : t + steps] * weight[t]
    return y


if __name__ == "__main__":
    print(depthwise(np.ones((2, 11, 7)), np.ones((3, 7))).shape)
