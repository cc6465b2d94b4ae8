"""The confusion matrix of one-hot labels: it counts samples by samples; runs all the same."""

import numpy as np
from jaxtyping import Float

from typednn import Array2


def confusion(predicted: Float[Array2, "count classes"], actual: Float[Array2, "count classes"]) -> Float[Array2, "classes classes"]:
    matrix: Array2 = actual @ predicted.T
    return matrix  # shape: classes count


if __name__ == "__main__":
    print(confusion(np.ones((7, 5)), np.ones((7, 5))).shape)
