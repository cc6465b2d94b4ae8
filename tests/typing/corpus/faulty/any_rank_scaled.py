"""The scale of each row returned as that of its features. It runs all the same: nothing checks a plain function."""

import numpy as np
from jaxtyping import Float

from typednn import Array1
from typednn.arrays import AnyArray


def scaled(x: Float[AnyArray, "*batch features"], weight: Float[Array1, " features"]) -> Float[AnyArray, "*batch"]:
    y: AnyArray = x * weight
    return y  # shape: expects *batch, gets *batch x features


if __name__ == "__main__":
    print(scaled(np.ones((4, 2, 3), np.float32), np.ones(3, np.float32)).shape)
