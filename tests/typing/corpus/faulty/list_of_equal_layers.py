"""A head for other sizes than the equal layers of a list give, however many there are."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear

rng = np.random.default_rng(0)


def deep(x: Float[Array2, "batch 8"], depth: int) -> Float[Array2, "batch 2"]:
    layers = [Linear(8, 8, rng=rng) for _ in range(depth)]
    head = Linear(16, 2, rng=rng)
    for layer in layers:
        x = layer.forward(x)
    return head.forward(x)  # shape: expects 16 features, gets 8


if __name__ == "__main__":
    deep(np.ones((2, 8), np.float32), 3)
