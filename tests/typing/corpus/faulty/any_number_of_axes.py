"""The derivative by the weights of each row, returned as that by the rows. It runs all the same: nothing checks a plain function."""

import numpy as np
from jaxtyping import Float

from typednn.arrays import AnyArray


def scaled(x: Float[AnyArray, "*batch features"], weights: Float[AnyArray, "*batch"]) -> Float[AnyArray, "*batch features"]:
    return weights * 2.0  # shape: expects *batch features, gets *batch


if __name__ == "__main__":
    x = np.ones((4, 2, 3), np.float32)
    print(scaled(x, x[..., 0]).shape)
