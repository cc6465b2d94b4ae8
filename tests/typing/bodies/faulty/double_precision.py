"""A scaling in single precision: its factors are made in double precision; runs all the same."""

import numpy as np
from jaxtyping import Float32

from typednn import Array2


def scaled(x: Float32[Array2, "batch features"]) -> Float32[Array2, "batch features"]:
    y: Array2 = x * np.full(x.shape[1], 2.0)
    return y  # shape: 64


if __name__ == "__main__":
    print(scaled(np.ones((7, 5), np.float32)).dtype)
