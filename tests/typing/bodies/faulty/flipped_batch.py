"""Each image and its mirror image: they are joined side by side instead of in one batch; runs all the same."""

import numpy as np
from jaxtyping import Float

from typednn import Array4


def with_mirrored(images: Float[Array4, "batch height width channels"]) -> Float[Array4, "2*batch height width channels"]:
    mirrored = images[:, :, ::-1]
    return np.concatenate([images, mirrored], axis=2)  # shape: batch


if __name__ == "__main__":
    print(with_mirrored(np.ones((2, 5, 7, 3))).shape)
