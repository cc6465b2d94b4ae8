"""One function called with other batches and other sizes: each call binds its names anew."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear

rng = np.random.default_rng(0)
small, large = Linear(4, 8, rng=rng), Linear(8, 4, rng=rng)


def normalised(x: Float[Array2, "batch features"]) -> Float[Array2, "batch features"]:
    y: Array2 = x / np.abs(x).max()
    return y


def outer(a: Float[Array2, "rows inner"], b: Float[Array2, "inner columns"]) -> Float[Array2, "rows columns"]:
    return a @ b


def forward(x: Float[Array2, "batch 4"], y: Float[Array2, "others 4"]) -> Float[Array2, "batch others"]:
    x = normalised(x)
    h = normalised(small(x))
    h = normalised(large(h))
    similar = outer(h, normalised(y).T)
    square = outer(outer(h.T, h), outer(y.T, y))
    print(square.shape)
    return similar


if __name__ == "__main__":
    print(forward(np.ones((3, 4), np.float32), np.ones((5, 4), np.float32)).shape)
