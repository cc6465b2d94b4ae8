"""A residual block by hand; its way down reads the block's width, not the widened one."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from typednn import Array2, Gradient, Layer, S
from typednn.layers import Linear, LinearGrad, ReLU


@dataclass(frozen=True)
class BlockGrad(Gradient):
    input: Float[Array2, "batch 12"]
    up: LinearGrad
    down: LinearGrad


class Block(Layer[Array2, Array2, BlockGrad, S]):
    def __init__(self) -> None:
        self.up = Linear(12, 48)
        self.relu = ReLU()
        self.down = Linear(12, 12)

    def forward(self, x: Float[Array2, "batch 12"]) -> Float[Array2, "batch 12"]:
        h = self.relu(self.up(x))
        return x + self.down(h)  # shape: expects 12 features, gets 48

    def backward(self, next_grad: Float[Array2, "batch 12"]) -> BlockGrad:
        down = self.down.backward(next_grad)
        up = self.up.backward(self.relu.backward(down.input).input)  # shape: 48
        return BlockGrad(next_grad + up.input, up, down)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    Block().init(rng).forward(rng.standard_normal((5, 12)).astype(np.float32))
