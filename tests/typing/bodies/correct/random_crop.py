"""A crop of images to 23 by 19."""

import numpy as np
from jaxtyping import Float

from typednn import Array4


def crop(images: Float[Array4, "batch 31 29 channels"], top: int, left: int) -> Float[Array4, "batch 23 19 channels"]:
    return images[:, top : top + 23, left : left + 19]


if __name__ == "__main__":
    print(crop(np.ones((2, 31, 29, 3)), 5, 7).shape)
