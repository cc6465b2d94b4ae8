"""A function whose annotation names three axes of an array of two. It runs all the same: nothing checks a plain function."""

import numpy as np
from jaxtyping import Float

from typednn import Array2


def doubled(x: Float[Array2, "batch height width"]) -> Float[Array2, "batch features"]:  # shape: Array2 promises 2 axes, got 3
    return x * 2.0


if __name__ == "__main__":
    print(doubled(np.ones((2, 3), np.float32)).shape)
