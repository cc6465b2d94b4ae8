"""Whatever the condition says, 16 features come and 12 are read."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear, Tanh

rng = np.random.default_rng(0)
plain, curved, head = Linear(8, 16, rng=rng), (Linear(8, 16) >> Tanh()).init(rng), Linear(12, 2, rng=rng)


def forward(x: Float[Array2, "batch 8"], curve: bool) -> Float[Array2, "batch 2"]:
    h = curved.forward(x) if curve else plain.forward(x)
    return head.forward(h)  # shape: expects 12 features, gets 16


if __name__ == "__main__":
    forward(np.ones((2, 8), np.float32), curve=True)
