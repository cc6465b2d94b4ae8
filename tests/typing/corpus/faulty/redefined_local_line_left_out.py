"""One local name for arrays of different sizes; a line was left out in between."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear, ReLU

rng = np.random.default_rng(0)
fc1, fc2, fc3, relu = Linear(8, 16, rng=rng), Linear(16, 32, rng=rng), Linear(32, 3, rng=rng), ReLU()


def forward(x: Float[Array2, "batch 8"]) -> Float[Array2, "batch 3"]:
    h = fc1(x)
    h = relu(h)
    h = relu(h)
    h = fc3(h)  # shape: expects 32 features, gets 16
    return h


if __name__ == "__main__":
    forward(np.ones((2, 8), np.float32))
