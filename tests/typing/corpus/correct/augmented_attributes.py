"""Sizes that a constructor changes step by step, in a loop, from an optional argument, in another method."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from typednn import Array2, Gradient, Input, Layer, S
from typednn.layers import Linear, LinearGrad


@dataclass(frozen=True)
class GrowGrad(Gradient):
    input: Float[Array2, "batch inputs"]
    fc: LinearGrad


class Grow(Layer[Array2, Array2, GrowGrad, S]):
    def __init__(self, inputs: int, outputs: int | None = None, doublings: int = 0) -> None:
        self.inputs = inputs
        self.outputs = outputs if outputs is not None else inputs
        self.outputs += 1
        for _ in range(doublings):
            self.outputs *= 2
        self.build()

    def build(self) -> None:
        self.fc = Linear(self.inputs, self.outputs)

    def forward(self, x: Float[Array2, "batch {self.inputs}"]) -> Float[Array2, "batch {self.outputs}"]:
        return self.fc.forward(x)

    def backward(self, next_grad: Float[Array2, "batch {self.outputs}"]) -> GrowGrad:
        fc = self.fc.backward(next_grad)
        return GrowGrad(fc.input, fc)


model = Input(3) >> Grow(3) >> Grow(4, 6) >> Grow(7, 1, doublings=2) >> Linear(8, 2)

if __name__ == "__main__":
    print(model.init(np.random.default_rng(0)).forward(np.ones((2, 3), np.float32)).shape)
