"""Assignments inside expressions, deletion, augmented assignment, unpacking with a star, swapping."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear

rng = np.random.default_rng(0)
fc1, fc2, fc3 = Linear(4, 6, rng=rng), Linear(6, 6, rng=rng), Linear(6, 2, rng=rng)


def forward(x: Float[Array2, "batch 4"]) -> Float[Array2, "batch 2"]:
    total = fc2(h := fc1(x))
    total += h
    del h
    a, b = x, total
    a, b = b, a
    if (y := fc1(b)).sum() > 0:
        a = a + y
    h, *others = [a, b, y]
    return fc3(h) + fc3(others[-1])


if __name__ == "__main__":
    print(forward(np.ones((3, 4), np.float32)).shape)
