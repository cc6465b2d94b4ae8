"""The mask in place of what it masks. It runs all the same: nothing checks a plain function."""

import numpy as np
from jaxtyping import Float

from typednn.arrays import AnyArray


def doubled(x: Float[AnyArray, "*shape"]) -> Float[AnyArray, "*shape"]:
    return 2 * x


def masked(x: Float[AnyArray, "*shape"], keep: Float[AnyArray, "*kept"]) -> Float[AnyArray, "*shape"]:
    """``keep`` broadcasts against x."""
    chosen = doubled(keep)
    return chosen  # shape: expects *shape, gets *kept


if __name__ == "__main__":
    print(masked(np.ones((2, 3), np.float32), np.ones(3, np.float32)).shape)
