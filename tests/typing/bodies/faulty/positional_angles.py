"""The angles of sinusoidal positions: the positions lie along the rates."""

import numpy as np
from jaxtyping import Float

from typednn import Array1, Array2


def angles(positions: Float[Array1, " time"], rates: Float[Array1, " half"]) -> Float[Array2, "time half"]:
    return positions[None] * rates[None]  # shape: time half


if __name__ == "__main__":
    print(angles(np.arange(7.0), np.ones(5)).shape)
