"""Sizes in braces: a block for any width reads twice what it says, whatever the width is."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from typednn import Array2, Gradient, Layer, S
from typednn.layers import Linear, LinearGrad


@dataclass(frozen=True)
class BlockGrad(Gradient):
    input: Float[Array2, "batch width"]
    fc: LinearGrad


class Block(Layer[Array2, Array2, BlockGrad, S]):
    def __init__(self, width: int) -> None:
        self.width = width
        self.fc = Linear(2 * width, width)

    def forward(self, x: Float[Array2, "batch {self.width}"]) -> Float[Array2, "batch {self.width}"]:
        return self.fc.forward(x)  # shape: 2*

    def backward(self, next_grad: Float[Array2, "batch {self.width}"]) -> BlockGrad:
        fc = self.fc.backward(next_grad)
        return BlockGrad(next_grad, fc)


if __name__ == "__main__":
    Block(6).init(np.random.default_rng(0)).forward(np.ones((3, 6), np.float32))
