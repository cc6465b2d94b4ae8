"""Names that are assigned in a comprehension, behind an `and`, and in the condition of a loop; a with block that is left early."""

from contextlib import suppress

import numpy as np
from jaxtyping import Float

from typednn import Array2, Array4
from typednn.layers import Flatten, Linear, MaxPool2d

rng = np.random.default_rng(0)
wide, narrow, same = Linear(4, 6, rng=rng), Linear(6, 2, rng=rng), Linear(4, 4, rng=rng)
pool, flatten, fc = MaxPool2d(2), Flatten(), Linear(4, 2, rng=rng)


def comprehended(x: Float[Array2, "batch 4"]) -> Float[Array2, "batch 2"]:
    h = x
    print([(h := layer.forward(h)).shape for layer in (wide, narrow)])
    return h


def perhaps(x: Float[Array2, "batch 4"], flag: bool) -> Float[Array2, "batch 4"]:
    h = x
    if flag and (h := wide.forward(h)).size:
        return x
    return same.forward(h)


def pooled(x: Float[Array4, "batch 16 16 1"]) -> Float[Array2, "batch 2"]:
    while (x := pool.forward(x)).shape[1] > 2:
        pass
    return fc.forward(flatten.forward(x))


def suppressed(x: Float[Array2, "batch 4"], text: str) -> Float[Array2, "batch 2"]:
    h = narrow.forward(wide.forward(x))
    with suppress(ValueError):
        x = x * int(text)
        h = wide.forward(x)
    return h


if __name__ == "__main__":
    x = np.ones((2, 4), np.float32)
    print(comprehended(x).shape, perhaps(x, flag=False).shape, pooled(np.ones((2, 16, 16, 1), np.float32)).shape, suppressed(x, "no").shape)
