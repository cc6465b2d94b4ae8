"""Attention of one head as annotated functions."""

import numpy as np
from jaxtyping import Float

from typednn import Array3


def softmax(x: Float[Array3, "batch query key"]) -> Float[Array3, "batch query key"]:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    y: Array3 = e / e.sum(axis=-1, keepdims=True)
    return y


def attention(
    q: Float[Array3, "batch query size"], k: Float[Array3, "batch key size"], v: Float[Array3, "batch key width"]
) -> Float[Array3, "batch query width"]:
    weights = softmax(q @ k.transpose(0, 2, 1))
    return weights @ v


def self_attention(x: Float[Array3, "batch time features"]) -> Float[Array3, "batch time features"]:
    return x + attention(x, x, x)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    q, kv = rng.standard_normal((2, 3, 8)), rng.standard_normal((2, 7, 8))
    print(attention(q, kv, kv).shape, self_attention(q).shape)
