"""Multi-head attention by einsum."""

import numpy as np
from jaxtyping import Float

from typednn import Array4


def heads(
    q: Float[Array4, "batch query heads size"], k: Float[Array4, "batch key heads size"], v: Float[Array4, "batch key heads size"]
) -> Float[Array4, "batch query heads size"]:
    scores = np.einsum("bqhd,bkhd->bhqk", q, k) * q.shape[-1] ** -0.5
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    y: Array4 = np.einsum("bhqk,bkhd->bqhd", weights, v)
    return y


if __name__ == "__main__":
    print(heads(np.ones((2, 3, 5, 11)), np.ones((2, 7, 5, 11)), np.ones((2, 7, 5, 11))).shape)
