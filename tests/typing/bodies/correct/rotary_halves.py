"""The two halves of a rotation put together."""

import numpy as np
from jaxtyping import Float

from typednn import Array3


def turned(x: Float[Array3, "batch time 2*half"]) -> Float[Array3, "batch time 2*half"]:
    half = x.shape[-1] // 2
    first, second = x[..., :half], x[..., half:]
    return np.concatenate([-second, first], axis=-1)


if __name__ == "__main__":
    print(turned(np.ones((2, 7, 10))).shape)
