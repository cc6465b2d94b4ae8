"""The anchor's gradient of the triplet loss: the active rows are laid along the features."""

import numpy as np
from jaxtyping import Float

from typednn import Array2


def anchor_gradient(
    anchor: Float[Array2, "batch features"], positive: Float[Array2, "batch features"], negative: Float[Array2, "batch features"]
) -> Float[Array2, "batch features"]:
    near = ((anchor - positive) ** 2).sum(axis=1)
    far = ((anchor - negative) ** 2).sum(axis=1)
    active = (near - far + 1.0 > 0.0).astype(anchor.dtype)
    grad: Array2 = 2.0 * (negative - positive) * active  # shape: features batch
    return grad


if __name__ == "__main__":
    print(anchor_gradient(np.ones((7, 5)), np.ones((7, 5)), np.zeros((7, 5))).shape)
