"""The first three principal components: rows of the vectors are taken, not columns."""

import numpy as np
from jaxtyping import Float

from typednn import Array2


def project(x: Float[Array2, "count features"], vectors: Float[Array2, "features features"]) -> Float[Array2, "count 3"]:
    centred = x - x.mean(axis=0, keepdims=True)
    y: Array2 = centred @ vectors[-3:]  # shape: features 3
    return y


if __name__ == "__main__":
    print(project(np.ones((11, 7)), np.eye(7)).shape)
