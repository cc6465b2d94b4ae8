"""In one branch only, a layer reads what it cannot get."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear

rng = np.random.default_rng(0)
small, large, head = Linear(8, 16, rng=rng), Linear(10, 16, rng=rng), Linear(16, 2, rng=rng)


def forward(x: Float[Array2, "batch 8"], use_large: bool) -> Float[Array2, "batch 2"]:
    if use_large:
        h = large(x)  # shape: expects 10 features, gets 8
    else:
        h = small(x)
        h = h + small(x)
    return head(h)


if __name__ == "__main__":
    forward(np.ones((2, 8), np.float32), use_large=True)
