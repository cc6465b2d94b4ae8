"""The two halves of a rotation put together: they are stacked, so there is one axis too many; runs all the same."""

import numpy as np
from jaxtyping import Float

from typednn import Array3


def turned(x: Float[Array3, "batch time 2*half"]) -> Float[Array3, "batch time 2*half"]:
    half = x.shape[-1] // 2
    first, second = x[..., :half], x[..., half:]
    return np.stack([-second, first], axis=-1)  # shape: 2*half


if __name__ == "__main__":
    print(turned(np.ones((2, 7, 10))).shape)
