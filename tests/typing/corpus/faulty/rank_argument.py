"""Rows of pixels given to a convolution by hand: a wrong rank, which plain mypy sees."""
# pyright: reportArgumentType=false

import numpy as np
from jaxtyping import Float

from typednn import Array2, Array4
from typednn.layers import Conv2d

conv = Conv2d(1, 6, 5, rng=np.random.default_rng(0))


def features(rows: Float[Array2, "batch 784"]) -> Float[Array4, "batch 24 24 6"]:
    return conv.forward(rows)  # mypy: arg-type


if __name__ == "__main__":
    features(np.ones((2, 784), np.float32))
