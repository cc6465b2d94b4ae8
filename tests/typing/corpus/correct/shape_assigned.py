"""The attribute ``shape`` of an array, assigned."""

import warnings

import numpy as np
from jaxtyping import Float

from typednn import Array2


def by_another_name(x: Float[Array2, "4 3"]) -> Float[Array2, "3 4"]:
    y = x.copy()
    same = y
    same.shape = (3, 4)
    return y


def in_a_dict(x: Float[Array2, "4 3"]) -> Float[Array2, "3 4"]:
    arrays = {"x": x.copy()}
    arrays["x"].shape = (3, 4)
    return arrays["x"]


if __name__ == "__main__":
    x = np.ones((4, 3))
    with warnings.catch_warnings():  # newer versions of NumPy warn of it
        warnings.simplefilter("ignore")
        print(by_another_name(x).shape, in_a_dict(x).shape)
