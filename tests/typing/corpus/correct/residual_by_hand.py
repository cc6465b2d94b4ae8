"""A residual block with x + f(x) written out."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from typednn import Array2, Gradient, Input, Layer, S
from typednn.layers import Linear, LinearGrad, ReLU


@dataclass(frozen=True)
class BlockGrad(Gradient):
    input: Float[Array2, "batch width"]
    up: LinearGrad
    down: LinearGrad


class Block(Layer[Array2, Array2, BlockGrad, S]):
    def __init__(self, width: int, factor: int = 4) -> None:
        self.width = width
        self.up = Linear(width, factor * width)
        self.relu = ReLU()
        self.down = Linear(factor * width, width)

    def forward(self, x: Float[Array2, "batch {self.width}"]) -> Float[Array2, "batch {self.width}"]:
        h = self.up(x)
        h = self.relu(h)
        h = self.down(h)
        return x + h

    def backward(self, next_grad: Float[Array2, "batch {self.width}"]) -> BlockGrad:
        down = self.down.backward(next_grad)
        up = self.up.backward(self.relu.backward(down.input).input)
        return BlockGrad(next_grad + up.input, up, down)


model = Input(12) >> Block(12) >> Block(12, factor=2) >> Linear(12, 3)

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model.init(rng)
    scores = model.forward(rng.standard_normal((5, 12)).astype(np.float32))
    print(model.backward(scores).input.shape)
