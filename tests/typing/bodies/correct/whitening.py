"""Data whitened by its covariance."""

import numpy as np
from jaxtyping import Float

from typednn import Array2


def whiten(x: Float[Array2, "count features"]) -> Float[Array2, "count features"]:
    centred = x - x.mean(axis=0)
    covariance = centred.T @ centred / len(x)
    values, vectors = np.linalg.eigh(covariance)
    y: Array2 = centred @ vectors / np.sqrt(np.abs(values) + 1e-5)
    return y


if __name__ == "__main__":
    print(whiten(np.random.default_rng(0).standard_normal((7, 5))).shape)
