"""Arithmetic between arrays of different sizes, as NumPy allows it."""

import numpy as np
from jaxtyping import Float

from typednn import Array1, Array2, Array3
from typednn.layers import Linear

rng = np.random.default_rng(0)
fc, scale = Linear(6, 4, rng=rng), Linear(6, 1, rng=rng)


def mean(x: Float[Array2, "batch features"]) -> Float[Array2, "batch 1"]:
    m: Array2 = x.mean(axis=1, keepdims=True)
    return m


def centred(x: Float[Array2, "batch features"]) -> Float[Array2, "batch features"]:
    return x - mean(x)


def scaled(x: Float[Array2, "batch 6"], offset: Float[Array1, " 4"]) -> Float[Array2, "batch 4"]:
    h = fc(centred(x)) * scale(x)
    h = h + offset
    h /= 2.0
    return 1.0 - h


def distances(x: Float[Array2, "batch features"]) -> Float[Array2, "batch batch"]:
    pairs: Array3 = x[:, None, :] - x[None, :, :]
    squares: Array2 = (pairs**2).sum(axis=-1)
    return squares


def weighted(x: Float[Array2, "batch 6"], weights: Float[Array1, " batch"]) -> Float[Array1, " 6"]:
    total: Array1 = (x * weights[:, np.newaxis]).sum(axis=0)
    return total


if __name__ == "__main__":
    x = np.ones((3, 6), np.float32)
    print(scaled(x, np.ones(4, np.float32)).shape, distances(x).shape, weighted(x, np.ones(3, np.float32)).shape)
