"""Braces name a function's own arguments; an argument before / has its place."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from typednn import Array2


def tiled(x: Float[Array2, "batch features"], times: int) -> Float[Array2, "batch {times}*features"]:
    return np.tile(x, (1, times))


def identity(size: int) -> Float[Array2, "{size} {size}"]:
    return np.eye(size)


def classify(x: Float[Array2, "batch 12"]) -> Float[Array2, "batch 12"]:
    return x @ identity(12)


class Scale(NamedTuple):
    factor: float

    def applied(self, x: Float[Array2, "batch features"], /, times: int) -> Float[Array2, "batch {times}*features"]:
        return tiled(x * self.factor, times)


if __name__ == "__main__":
    print(classify(Scale(2.0).applied(tiled(np.ones((2, 2)), 3), 2)).shape)
