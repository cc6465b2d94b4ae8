"""A product with a matrix that was not transposed; NumPy refuses it."""

import numpy as np
from jaxtyping import Float

from typednn import Array2


def scores(x: Float[Array2, "batch 4"], weight: Float[Array2, "3 4"]) -> Float[Array2, "batch 3"]:
    y: Array2 = x @ weight  # shape: (batch, 4) @ (3, 4): 4 columns meet 3 rows
    return y


if __name__ == "__main__":
    scores(np.ones((2, 4), np.float32), np.ones((3, 4), np.float32))
