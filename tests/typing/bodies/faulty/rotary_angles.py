"""Rotary embeddings: the cosines lie along the heads."""

import numpy as np
from jaxtyping import Float

from typednn import Array2, Array4


def rotate(
    x: Float[Array4, "batch time heads 2*half"], cos: Float[Array2, "time half"], sin: Float[Array2, "time half"]
) -> Float[Array4, "batch time heads 2*half"]:
    half = cos.shape[1]
    first, second = x[..., :half], x[..., half:]
    c, s = cos[None], sin[:, None]
    return np.concatenate([first * c - second * s, first * s + second * c], axis=-1)  # shape: heads time


if __name__ == "__main__":
    print(rotate(np.ones((2, 7, 3, 10)), np.ones((7, 5)), np.ones((7, 5))).shape)
