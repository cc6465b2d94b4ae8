"""Twice six features are twelve. It runs all the same: nothing checks a plain function."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from typednn import Array2


def tiled(x: Float[Array2, "batch features"], times: int) -> Float[Array2, "batch {times}*features"]:
    return np.tile(x, (times, 1))  # shape: expects batch, gets batch*times


class Scale(NamedTuple):
    factor: float

    def applied(self, x: Float[Array2, "batch 6"], /, times: int) -> Float[Array2, "batch {times}*6"]:
        return np.tile(x, (1, np.arange(times + 1)[-1]))


def classify(x: Float[Array2, "batch 6"], scale: Scale) -> Float[Array2, "batch 18"]:
    return scale.applied(x, 2)  # shape: gets 12


if __name__ == "__main__":
    print(classify(np.ones((2, 6)), Scale(1.0)).shape, tiled(np.ones((2, 6)), 3).shape)
