"""The squared error of the real steps of sequences: the mask has no axis for the features."""

import numpy as np
from jaxtyping import Float

from typednn import Array2, Array3


def masked_loss(
    prediction: Float[Array3, "batch time features"], target: Float[Array3, "batch time features"], mask: Float[Array2, "batch time"]
) -> float:
    squares = (prediction - target) ** 2 * mask  # shape: features time
    return float(squares.sum() / mask.sum())


if __name__ == "__main__":
    print(masked_loss(np.ones((2, 7, 5)), np.zeros((2, 7, 5)), np.ones((2, 7))))
