"""Backward through time, the weight's gradient added up in place."""

import numpy as np
from jaxtyping import Float

from typednn import Array2, Array3


def weight_gradient(x: Float[Array3, "batch time features"], dz: Float[Array3, "batch time hidden"]) -> Float[Array2, "hidden features"]:
    dweight: Float[Array2, "hidden features"] = np.zeros((dz.shape[2], x.shape[2]))
    for t in reversed(range(x.shape[1])):
        dweight += dz[:, t].T @ x[:, t]
    return dweight


if __name__ == "__main__":
    print(weight_gradient(np.ones((2, 7, 3)), np.ones((2, 7, 5))).shape)
