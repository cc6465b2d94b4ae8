"""Gives it digits of 28 by 28."""

import numpy as np
from jaxtyping import Float

from package_open_sizes.parts import classifier
from typednn import Array2, Array4


def classify(digits: Float[Array4, "batch 28 28 1"]) -> Float[Array2, "batch 10"]:
    return classifier.forward(digits)  # shape: gets 3456


if __name__ == "__main__":
    classify(np.ones((2, 28, 28, 1), np.float32))
