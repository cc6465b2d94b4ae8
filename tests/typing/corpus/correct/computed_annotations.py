"""Axis strings from constants, from f-strings and from a base class's attribute."""

from typing import Final

import numpy as np
from jaxtyping import Float

from typednn import Array2, Array4
from typednn.layers import Conv2d, Flatten, Linear

SIDE: Final = 8
IMAGES: Final = f"batch {SIDE} {SIDE} 1"
ROWS = "batch 72"
rng = np.random.default_rng(0)
conv, flatten, fc = Conv2d(1, 2, 3, rng=rng), Flatten(), Linear(72, 2, rng=rng)


def rows(x: Float[Array4, IMAGES]) -> Float[Array2, ROWS]:
    return flatten.forward(conv.forward(x))


def scores(x: Float[Array4, f"batch {SIDE} {SIDE} 1"]) -> "Float[Array2, 'batch 2']":
    return fc.forward(rows(x))


if __name__ == "__main__":
    print(scores(np.ones((2, 8, 8, 1), np.float32)).shape)
