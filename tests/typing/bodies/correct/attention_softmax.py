"""Softmax of attention scores over the keys."""

import numpy as np
from jaxtyping import Float

from typednn import Array4


def softmax(scores: Float[Array4, "batch heads query key"]) -> Float[Array4, "batch heads query key"]:
    largest = scores.max(axis=-1, keepdims=True)
    e = np.exp(scores - largest)
    y: Array4 = e / e.sum(axis=-1, keepdims=True)
    return y


if __name__ == "__main__":
    print(softmax(np.ones((2, 3, 5, 7))).shape)
