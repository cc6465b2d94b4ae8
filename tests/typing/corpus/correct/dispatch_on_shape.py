"""A function that looks at the shape before it chooses a layer."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear

rng = np.random.default_rng(0)
from_rows, from_pixels, again = Linear(10, 4, rng=rng), Linear(784, 4, rng=rng), Linear(4, 4, rng=rng)


def encode(x: Float[Array2, "batch features"]) -> Float[Array2, "batch 4"]:
    if x.shape[1] == 10:
        return from_rows(x)
    if x.shape[1] == 784:
        return from_pixels(x)
    match x.shape:
        case (_, 4):
            return again(x)
        case (batch, _):
            raise ValueError(f"no layer for a batch of {batch}")


if __name__ == "__main__":
    for features in (10, 784, 4):
        print(encode(np.ones((2, features), np.float32)).shape)
