"""A moving average by windows of a series: the weights are as long as there are windows."""

import numpy as np
from jaxtyping import Float
from numpy.lib.stride_tricks import sliding_window_view

from typednn import Array1


def smoothed(x: Float[Array1, "10"]) -> Float[Array1, "8"]:
    y: Array1 = sliding_window_view(x, 3) @ np.full(8, 1 / 3)  # shape: 3 columns 8 rows
    return y


if __name__ == "__main__":
    print(smoothed(np.arange(10.0)))
