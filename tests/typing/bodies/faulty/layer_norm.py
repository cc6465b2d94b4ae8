"""Normalisation over the last axis: the mean is taken without keepdims."""

import numpy as np
from jaxtyping import Float

from typednn import Array1, Array3


def normalise(x: Float[Array3, "batch time features"], weight: Float[Array1, " features"]) -> Float[Array3, "batch time features"]:
    centred = x - x.mean(axis=-1)  # shape: features time
    variance = (centred**2).mean(axis=-1, keepdims=True)
    y: Array3 = centred / np.sqrt(variance + 1e-5) * weight
    return y


if __name__ == "__main__":
    print(normalise(np.ones((2, 7, 5)), np.ones(5)).shape)
