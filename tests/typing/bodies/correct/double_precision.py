"""A scaling in single precision."""

import numpy as np
from jaxtyping import Float32

from typednn import Array2


def scaled(x: Float32[Array2, "batch features"]) -> Float32[Array2, "batch features"]:
    y: Array2 = x * np.full(x.shape[1], 2.0, dtype=np.float32)
    return y


if __name__ == "__main__":
    print(scaled(np.ones((7, 5), np.float32)).dtype)
