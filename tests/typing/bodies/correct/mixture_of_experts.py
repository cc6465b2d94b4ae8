"""Experts' outputs weighted by their gates."""

import numpy as np
from jaxtyping import Float

from typednn import Array2, Array3


def mix(gates: Float[Array2, "batch experts"], outputs: Float[Array3, "batch experts features"]) -> Float[Array2, "batch features"]:
    y: Array2 = np.einsum("be,bef->bf", gates, outputs)
    return y


if __name__ == "__main__":
    print(mix(np.ones((7, 3)), np.ones((7, 3, 5))).shape)
