"""Power at each frequency of a real signal: as many weights as there are samples."""

import numpy as np
from jaxtyping import Float
from numpy.fft import rfft

from typednn import Array1, Array2


def weighted(signals: Float[Array2, "count 16"]) -> Float[Array1, " count"]:
    power = np.abs(rfft(signals, axis=-1)) ** 2
    total: Array1 = power @ np.ones(16)  # shape: 9 columns 16 rows
    return total


if __name__ == "__main__":
    print(weighted(np.ones((5, 16))).shape)
