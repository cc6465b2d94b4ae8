"""Sentences as the mean of their tokens, with an axis that was to go; it runs all the same."""

import numpy as np
from jaxtyping import Float

from typednn import Array2, Array3
from typednn.layers import SequenceLinear

rng = np.random.default_rng(0)
project = SequenceLinear(9, 5, rng=rng)


def sentence(tokens: Float[Array3, "batch time 9"]) -> Float[Array2, "batch 5"]:
    codes = project.forward(tokens)
    mean: Array2 = codes.mean(axis=1, keepdims=True)  # shape
    return mean  # meets


def similarity(a: Float[Array3, "batch time 9"], b: Float[Array3, "batch more 9"]) -> float:
    return float((sentence(a) * sentence(b)).sum())


if __name__ == "__main__":
    print(similarity(np.ones((2, 4, 9), np.float32), np.ones((2, 6, 9), np.float32)))
