"""Softmax with a temperature for each row."""

import numpy as np
from jaxtyping import Float

from typednn import Array1, Array2


def softmax(scores: Float[Array2, "batch classes"], temperature: Float[Array1, " batch"]) -> Float[Array2, "batch classes"]:
    scaled = scores / temperature[:, None]
    e = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    y: Array2 = e / e.sum(axis=1, keepdims=True)
    return y


if __name__ == "__main__":
    print(softmax(np.ones((7, 5)), np.ones(7)).shape)
