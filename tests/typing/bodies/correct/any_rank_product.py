"""A matrix applied to the last axis of any array."""

import numpy as np
from jaxtyping import Float

from typednn.arrays import AnyArray


def projected(x: Float[AnyArray, "*batch 4"]) -> Float[AnyArray, "*batch 3"]:
    matrix = np.ones((4, 3))
    y: AnyArray = x @ matrix
    return y


if __name__ == "__main__":
    print(projected(np.ones((2, 5, 4))).shape)
