"""Noise from the older functions of numpy.random."""

# ruff: noqa: NPY002 - older programs use these functions
import numpy as np
from jaxtyping import Float
from numpy.random import randn

from typednn import Array2


def noisy(x: Float[Array2, "batch 3"]) -> Float[Array2, "batch 3"]:
    offsets = randn(3)
    y: Array2 = x + np.random.normal(0.0, 0.1, size=x.shape) + offsets
    return y


if __name__ == "__main__":
    print(noisy(np.ones((5, 3))).shape)
