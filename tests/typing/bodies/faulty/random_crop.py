"""A crop of images to 23 by 19: its right edge is one too far; runs all the same."""

import numpy as np
from jaxtyping import Float

from typednn import Array4


def crop(images: Float[Array4, "batch 31 29 channels"], top: int, left: int) -> Float[Array4, "batch 23 19 channels"]:
    return images[:, top : top + 23, left : left + 20]  # shape: 19 20


if __name__ == "__main__":
    print(crop(np.ones((2, 31, 29, 3)), 5, 7).shape)
