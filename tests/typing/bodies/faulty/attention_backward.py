"""The gradients of queries and keys: the scores' gradient is not transposed for the keys."""

import numpy as np
from jaxtyping import Float

from typednn import Array3


def backward(
    dscores: Float[Array3, "batch query key"], q: Float[Array3, "batch query size"], k: Float[Array3, "batch key size"]
) -> tuple[Float[Array3, "batch query size"], Float[Array3, "batch key size"]]:
    dq: Array3 = dscores @ k
    dk: Array3 = dscores @ q  # shape: query key
    return dq, dk


if __name__ == "__main__":
    dq, dk = backward(np.ones((2, 3, 7)), np.ones((2, 3, 5)), np.ones((2, 7, 5)))
    print(dq.shape, dk.shape)
