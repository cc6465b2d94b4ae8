"""Data with mean 0 and deviation 1 for each feature: the deviation is that of the rows."""

import numpy as np
from jaxtyping import Float

from typednn import Array2


def standardise(x: Float[Array2, "count features"]) -> Float[Array2, "count features"]:
    mean = x.mean(axis=0)
    deviation = x.std(axis=1)
    y: Array2 = (x - mean) / (deviation + 1e-6)  # shape: features count
    return y


if __name__ == "__main__":
    print(standardise(np.ones((7, 5))).shape)
