"""A block's projection is made only if it is asked for, and is needed."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear, ReLU
from typednn.random import Rng


class Block:
    def __init__(self, inputs: int, outputs: int, rng: Rng, project: bool | None = None) -> None:
        if project is None:
            project = inputs != outputs
        self.inputs, self.outputs = inputs, outputs
        self.main = Linear(inputs, outputs, rng=rng)
        self.relu = ReLU()
        self.project = Linear(inputs, outputs, rng=rng) if project else None

    def forward(self, x: Float[Array2, "batch {self.inputs}"]) -> Float[Array2, "batch {self.outputs}"]:
        """Where the sizes differ, NumPy refuses it."""
        h = self.relu.forward(self.main.forward(x))
        return h + (x if self.project is None else self.project.forward(x))  # meets


def run(x: Float[Array2, "batch 8"]) -> Float[Array2, "batch 13"]:
    rng = np.random.default_rng(0)
    first = Block(8, 8, rng)
    second = Block(8, 13, rng, project=False)  # shape
    return second.forward(first.forward(x))  # meets


if __name__ == "__main__":
    print(run(np.ones((2, 8), np.float32)).shape)
