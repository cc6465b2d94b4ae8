"""A model with a number of blocks and a projection only where it is needed."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Identity, Linear
from typednn.random import Rng


class Block:
    def __init__(self, inputs: int, outputs: int, rng: Rng) -> None:
        self.inputs, self.outputs = inputs, outputs
        self.main = Linear(inputs, outputs, rng=rng)
        self.skip = Linear(inputs, outputs, rng=rng) if inputs != outputs else Identity()

    def forward(self, x: Float[Array2, "batch {self.inputs}"]) -> Float[Array2, "batch {self.outputs}"]:
        return self.main.forward(x) + self.skip.forward(x)


class Net:
    def __init__(self, widths: tuple[int, ...], rng: Rng) -> None:
        self.blocks: list[Block] = []
        width = 8
        for next_width in widths:
            self.blocks.append(Block(width, next_width, rng))
            width = next_width
        self.head = Linear(width, 2, rng=rng)

    def forward(self, x: Float[Array2, "batch 8"]) -> Float[Array2, "batch 2"]:
        h = x
        for block in self.blocks:
            h = block.forward(h)
        return self.head.forward(h)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    for widths in ((), (8,), (16, 16, 4)):
        print(Net(widths, rng).forward(np.ones((2, 8), np.float32)).shape)
