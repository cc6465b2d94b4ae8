"""Attention as a function; where it is called, the values have other positions than the keys; NumPy refuses it."""

import numpy as np
from jaxtyping import Float

from typednn import Array3


def attention(
    q: Float[Array3, "batch query size"], k: Float[Array3, "batch key size"], v: Float[Array3, "batch key width"]
) -> Float[Array3, "batch query width"]:
    scores = q @ k.transpose(0, 2, 1)
    weights = np.exp(scores)
    mixed: Array3 = (weights / weights.sum(axis=-1, keepdims=True)) @ v
    return mixed


def cross(x: Float[Array3, "batch 10 64"], memory: Float[Array3, "batch 20 64"]) -> Float[Array3, "batch 10 64"]:
    return attention(x, memory, x)  # shape: 10


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    cross(rng.standard_normal((2, 10, 64)), rng.standard_normal((2, 20, 64)))
