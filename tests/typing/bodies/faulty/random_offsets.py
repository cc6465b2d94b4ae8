"""Noise from the older functions of numpy.random: one number for each row, not for each column."""

# ruff: noqa: NPY002 - older programs use these functions
import numpy as np
from jaxtyping import Float
from numpy.random import randn

from typednn import Array2


def noisy(x: Float[Array2, "batch 3"]) -> Float[Array2, "batch 3"]:
    offsets = randn(7)
    y: Array2 = x + np.random.normal(0.0, 0.1, size=x.shape) + offsets  # shape: 3 7
    return y


if __name__ == "__main__":
    print(noisy(np.ones((5, 3))).shape)
