"""Nested functions, a generic helper, try, while and a comprehension around layers."""

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear, ReLU

T = TypeVar("T")

rng = np.random.default_rng(0)
square, head, relu = Linear(6, 6, rng=rng), Linear(6, 2, rng=rng), ReLU()


def twice(f: Callable[[T], T], x: T) -> T:
    return f(f(x))


def forward(x: Float[Array2, "batch 6"], times: int = 3) -> Float[Array2, "batch 2"]:
    def step(h: Float[Array2, "batch 6"]) -> Float[Array2, "batch 6"]:
        return relu(square(h))

    while times > 0:
        x = step(x)
        times -= 1
    x = twice(step, x)
    x = twice(lambda h: h * 0.5, x)
    try:
        y = head(x)
    except ValueError:
        y = head(step(x))
    total = sum([head(x) for _ in range(3)])
    return y + total


if __name__ == "__main__":
    print(forward(np.ones((2, 6), np.float32)).shape)
