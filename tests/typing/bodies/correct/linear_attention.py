"""Linear attention."""

import numpy as np
from jaxtyping import Float

from typednn import Array3


def attend(
    q: Float[Array3, "batch time size"], k: Float[Array3, "batch time size"], v: Float[Array3, "batch time width"]
) -> Float[Array3, "batch time width"]:
    context = np.einsum("btd,bte->bde", k, v)
    total = k.sum(axis=1)
    divisor = np.einsum("btd,bd->bt", q, total)
    y: Array3 = np.einsum("btd,bde->bte", q, context) / divisor[..., None]
    return y


if __name__ == "__main__":
    print(attend(np.ones((2, 7, 5)), np.ones((2, 7, 5)), np.ones((2, 7, 3))).shape)
