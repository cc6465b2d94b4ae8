"""The cosines of all pairs of two sets of rows: the second set is not transposed."""

import numpy as np
from jaxtyping import Float

from typednn import Array2


def cosines(a: Float[Array2, "queries features"], b: Float[Array2, "items features"]) -> Float[Array2, "queries items"]:
    a = a / np.linalg.norm(a, axis=1, keepdims=True)
    b = b / np.linalg.norm(b, axis=1, keepdims=True)
    return a @ b  # shape: features items


if __name__ == "__main__":
    print(cosines(np.ones((7, 5)), np.ones((3, 5))).shape)
