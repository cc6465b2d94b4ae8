"""A method that reads rows or images, by overload."""

from typing import overload

import numpy as np
from jaxtyping import Float

from typednn import Array2, Array4
from typednn.layers import Linear
from typednn.random import Rng


class Scorer:
    def __init__(self, rng: Rng) -> None:
        self.fc = Linear(192, 5, rng=rng)

    @overload
    def __call__(self, x: Float[Array2, "batch 192"]) -> Float[Array2, "batch 5"]: ...
    @overload
    def __call__(self, x: Float[Array4, "batch 8 8 3"]) -> Float[Array2, "batch 5"]: ...
    def __call__(self, x: Array2 | Array4) -> Float[Array2, "batch 5"]:
        rows: Array2 = x.reshape(x.shape[0], 192)
        return self.fc.forward(rows)


if __name__ == "__main__":
    scorer = Scorer(np.random.default_rng(0))
    print(scorer(np.ones((2, 8, 8, 3), np.float32)).shape, scorer(np.ones((2, 192), np.float32)).shape)
