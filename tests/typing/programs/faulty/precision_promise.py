"""Features of a table are promised as singles, and returned as the doubles that they are; it runs all the same."""

from typing import cast

import numpy as np
from jaxtyping import Float32, Float64

from typednn import Array2
from typednn.layers import Linear

rng = np.random.default_rng(0)
fc = Linear(4, 1, rng=rng)


def table() -> Float64[Array2, "rows 4"]:
    return cast(Array2, rng.standard_normal((7, 4)))


def scaled(x: Float64[Array2, "rows 4"]) -> Float32[Array2, "rows 4"]:
    deviation = x.std(axis=0)
    y: Array2 = x / deviation
    return x  # shape


if __name__ == "__main__":
    x = scaled(table())
    print(fc.forward(x.astype(np.float32)).shape)
