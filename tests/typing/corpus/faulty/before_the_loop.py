"""What a loop leaves alone keeps its size: 12 features for a head that reads 16."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear

rng = np.random.default_rng(0)
first, block, head = Linear(8, 12, rng=rng), Linear(12, 12, rng=rng), Linear(16, 2, rng=rng)


def forward(x: Float[Array2, "batch 8"], times: int) -> Float[Array2, "batch 2"]:
    h = first.forward(x)
    total = h
    for _ in range(times):
        total = block.forward(total)
    print(total.sum())
    return head.forward(h)  # shape: expects 16 features, gets 12


if __name__ == "__main__":
    forward(np.ones((2, 8), np.float32), 2)
