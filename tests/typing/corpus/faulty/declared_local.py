"""A local array that is declared with the sizes of the weights, and made with those of their transpose; runs all the same."""

import numpy as np
from jaxtyping import Float

from typednn import Array2


def gradient(x: Float[Array2, "batch features"], dz: Float[Array2, "batch hidden"]) -> float:
    total: Float[Array2, "hidden features"] = np.zeros((x.shape[1], dz.shape[1]))  # shape: expects hidden, gets features
    return float(total.sum())


if __name__ == "__main__":
    print(gradient(np.ones((2, 3)), np.ones((2, 5))))
