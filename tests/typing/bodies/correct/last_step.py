"""The last real step of each sequence."""

import numpy as np
from jaxtyping import Float, Integer

from typednn import Array2, Array3, IntArray1


def last(x: Float[Array3, "batch time features"], lengths: Integer[IntArray1, " batch"]) -> Float[Array2, "batch features"]:
    y: Array2 = x[np.arange(x.shape[0]), lengths - 1]
    return y


if __name__ == "__main__":
    print(last(np.ones((3, 7, 5)), np.array([2, 5, 7])).shape)
