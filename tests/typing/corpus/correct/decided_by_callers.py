"""Sizes that only a caller decides: None that is replaced, a choice of two, a copy that is changed by a closure."""

import numpy as np
from jaxtyping import Float

from typednn import Array2, Input
from typednn.layers import Linear

rng = np.random.default_rng(0)
narrow, head = Linear(4, 2, rng=rng), Linear(2, 2, rng=rng)


def replaced(small: bool) -> None:
    width = None
    if small:
        width = 4
    if width is None:
        width = 8
    print(Linear(3, 8) >> Linear(width, 2))


def chosen(small: bool) -> None:
    width = 4 if small else 8
    sizes = (4, 2) if small else None
    if not sizes:
        sizes = (8, 2)
    print(Input(8) >> Linear(width, 2), Linear(3, 8) >> Linear(sizes[0], 1))


def enclosed(x: Float[Array2, "batch 4"]) -> Float[Array2, "batch 2"]:
    h = x

    def step() -> None:
        nonlocal h
        h = narrow.forward(h)

    step()
    return head.forward(h)


if __name__ == "__main__":
    replaced(small=False)
    chosen(small=False)
    print(enclosed(np.ones((2, 4), np.float32)).shape)
