"""An image is enlarged twofold or fourfold, as a Literal integer says."""

from typing import Literal

import numpy as np
from jaxtyping import Float

from typednn import Array4
from typednn.layers import Conv2d, Upsample

rng = np.random.default_rng(0)
smooth = Conv2d(3, 3, 3, padding=1, rng=rng)
twice = Upsample(2)
fourfold = Upsample(4)


def enlarge(x: Float[Array4, "batch 8 8 3"], scale: Literal[2, 4]) -> Float[Array4, "batch rows columns 3"]:
    if scale == 2:
        return smooth.forward(twice.forward(x))
    return smooth.forward(fourfold.forward(x))


def poster(x: Float[Array4, "batch 8 8 3"]) -> Float[Array4, "batch 32 32 3"]:
    """It runs all the same: no array is compared with the promise."""
    return enlarge(x, 4)


if __name__ == "__main__":
    print(poster(np.zeros((1, 8, 8, 3), np.float32)).shape)
