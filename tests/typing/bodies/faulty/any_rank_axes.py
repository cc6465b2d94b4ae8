"""The squared length of the vectors along the last axis, which stays: the matrices are summed by the last axis but one; it runs all the same."""

import numpy as np
from jaxtyping import Float

from typednn.arrays import AnyArray


def squared(x: Float[AnyArray, "*batch 4 2"]) -> Float[AnyArray, "*batch 4"]:
    y: AnyArray = np.sum(x[..., :2] ** 2, axis=-2)
    return y  # shape: 4 2


if __name__ == "__main__":
    print(squared(np.ones((2, 5, 4, 2))).shape)
