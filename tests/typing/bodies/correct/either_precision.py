"""A product of an array of one of two dtypes."""

import numpy as np
from jaxtyping import Float32, Float64

from typednn import Array2


def product(x: Float32[Array2, "count 3"] | Float64[Array2, "count 3"]) -> Array2:
    y: Array2 = x @ np.ones((3, 4))
    return y


if __name__ == "__main__":
    print(product(np.ones(tuple(map(int, "53")))).shape)
