"""The early return keeps the promise, the last one does not."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear

rng = np.random.default_rng(0)
fast, slow = Linear(10, 3, rng=rng), Linear(10, 4, rng=rng)


def classify(x: Float[Array2, "batch 10"], hurry: bool) -> Float[Array2, "batch 3"]:
    """It runs all the same: nothing checks a plain function."""
    if hurry:
        return fast.forward(x)
    return slow.forward(x)  # shape: 4


if __name__ == "__main__":
    print(classify(np.ones((2, 10), np.float32), hurry=False).shape)
