"""A try that fails before its end, and a loop that continues before it undoes what it did."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear

rng = np.random.default_rng(0)
wide, narrow = Linear(4, 6, rng=rng), Linear(6, 4, rng=rng)


def parsed(x: Float[Array2, "batch 4"], text: str) -> Float[Array2, "batch 4"]:
    try:
        x = x * int(text)
        h = wide.forward(x)
    except ValueError:
        h = x
    return h


def repeated(x: Float[Array2, "batch 4"], *, undo: bool) -> Float[Array2, "batch 6"]:
    h = x
    for _ in range(2):
        h = wide.forward(x)
        if not undo:
            continue
        h = narrow.forward(h)
    return h


if __name__ == "__main__":
    x = np.ones((2, 4), np.float32)
    print(parsed(x, "none").shape, repeated(x, undo=False).shape)
