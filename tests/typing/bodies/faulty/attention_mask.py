"""A mask of padded keys in attention: it is laid along the queries."""

import numpy as np
from jaxtyping import Bool, Float

from typednn import AnyBoolArray, Array3


def masked(scores: Float[Array3, "batch query key"], real: Bool[AnyBoolArray, "batch key"]) -> Float[Array3, "batch query key"]:
    return np.where(real[:, :, None], scores, -np.inf)  # shape: query key


if __name__ == "__main__":
    print(masked(np.ones((2, 3, 7)), np.ones((2, 7), np.bool_)).shape)
