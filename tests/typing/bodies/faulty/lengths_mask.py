"""The mask of the real steps by the lengths of sequences: lengths and steps are laid along the same axis."""

import numpy as np
from jaxtyping import Float, Integer

from typednn import Array2, IntArray1


def mask(x: Float[Array2, "batch time"], lengths: Integer[IntArray1, " batch"]) -> Float[Array2, "batch time"]:
    real = np.arange(x.shape[1])[None] < lengths[None]  # shape: time batch
    y: Array2 = x * real
    return y


if __name__ == "__main__":
    print(mask(np.ones((3, 7)), np.array([2, 5, 7])).shape)
