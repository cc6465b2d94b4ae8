"""Heads merged into features again: the axes are permuted wrongly before, so that time and size change places; runs all the same."""

import numpy as np
from jaxtyping import Float

from typednn import Array3, Array4


def merge(y: Float[Array4, "batch heads time size"]) -> Float[Array3, "batch time heads*size"]:
    batch = y.shape[0]
    side_by_side = y.transpose(0, 3, 1, 2)
    return side_by_side.reshape(batch, side_by_side.shape[1], -1)  # shape: time size


if __name__ == "__main__":
    print(merge(np.ones((2, 3, 7, 5))).shape)
