"""Logarithms of probabilities of sequences."""

import numpy as np
from jaxtyping import Float

from typednn import Array3


def log_softmax(x: Float[Array3, "batch time classes"]) -> Float[Array3, "batch time classes"]:
    shifted = x - x.max(axis=-1, keepdims=True)
    sums = np.exp(shifted).sum(axis=-1)
    y: Array3 = shifted - np.log(sums)[..., None]
    return y


if __name__ == "__main__":
    print(log_softmax(np.ones((2, 7, 5))).shape)
