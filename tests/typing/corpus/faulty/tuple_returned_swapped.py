"""A function promises (code, features) and returns (features, code)."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear, ReLU

rng = np.random.default_rng(0)
body = (Linear(30, 20) >> ReLU()).init(rng)
mean = Linear(20, 4, rng=rng)


def encode(x: Float[Array2, "batch 30"]) -> tuple[Float[Array2, "batch 4"], Float[Array2, "batch 20"]]:
    """It runs all the same: nothing checks a plain function."""
    h = body.forward(x)
    code = mean.forward(h)
    return h, code  # shape: 20


if __name__ == "__main__":
    print(len(encode(np.ones((2, 30), np.float32))))
