"""A model behind a Protocol promises ten scores and has nine; it runs all the same."""

from typing import Protocol

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear
from typednn.random import Rng


class Scores(Protocol):
    def forward(self, x: Float[Array2, "batch 21"]) -> Float[Array2, "batch 10"]: ...


class Softmaxed:
    def __init__(self, rng: Rng) -> None:
        self.fc = Linear(21, 9, rng=rng)  # shape

    def forward(self, x: Float[Array2, "batch 21"]) -> Float[Array2, "batch 10"]:
        return self.fc.forward(x)  # meets


def best(model: Scores, x: Float[Array2, "batch 21"]) -> list[int]:
    return [int(row.argmax()) for row in model.forward(x)]


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    print(best(Softmaxed(rng), rng.random((3, 21)).astype(np.float32)))
