"""A moving average by windows of a series."""

import numpy as np
from jaxtyping import Float
from numpy.lib.stride_tricks import sliding_window_view

from typednn import Array1


def smoothed(x: Float[Array1, "10"]) -> Float[Array1, "8"]:
    y: Array1 = sliding_window_view(x, 3) @ np.full(3, 1 / 3)
    return y


if __name__ == "__main__":
    print(smoothed(np.arange(10.0)))
