"""A layer and an array under new local names; the sizes go with them."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear
from typednn.random import Rng


class Net:
    def __init__(self, rng: Rng) -> None:
        self.fc1 = Linear(8, 16, rng=rng)
        self.fc2 = Linear(20, 2, rng=rng)

    def forward(self, x: Float[Array2, "batch 8"]) -> Float[Array2, "batch 2"]:
        first, second = self.fc1, self.fc2
        rows = x
        hidden = first.forward(rows)
        again = hidden
        return second.forward(again)  # shape: expects 20 features, gets 16


if __name__ == "__main__":
    Net(np.random.default_rng(0)).forward(np.ones((2, 8), np.float32))
