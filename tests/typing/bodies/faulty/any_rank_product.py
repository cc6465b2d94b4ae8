"""A matrix applied to the last axis of any array: one row too many."""

import numpy as np
from jaxtyping import Float

from typednn.arrays import AnyArray


def projected(x: Float[AnyArray, "*batch 4"]) -> Float[AnyArray, "*batch 3"]:
    matrix = np.ones((5, 3))
    y: AnyArray = x @ matrix  # shape: 4 columns 5 rows
    return y


if __name__ == "__main__":
    print(projected(np.ones((2, 5, 4))).shape)
