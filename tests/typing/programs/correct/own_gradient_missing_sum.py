"""A bias for each channel of an image, a layer of one's own."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from typednn import Array1, Array4, Gradient, Input, Layer, Parameter, S
from typednn.layers import Conv2d, ReLU


@dataclass(frozen=True, slots=True)
class ShiftGrad(Gradient):
    input: Float[Array4, "batch height width channels"]
    shift: Float[Array1, " channels"]


class Shift(Layer[Array4, Array4, ShiftGrad, S]):
    shift: Parameter[Float[Array1, " {self.channels}"]]

    def __init__(self, channels: int) -> None:
        self.channels = channels
        self.initialise_with(shift="zeros")

    def forward(self, x: Float[Array4, "batch height width {self.channels}"]) -> Float[Array4, "batch height width {self.channels}"]:
        return x + self.shift

    def backward(self, next_grad: Float[Array4, "batch height width {self.channels}"]) -> ShiftGrad:
        shift: Array1 = next_grad.sum(axis=(0, 1, 2))
        return ShiftGrad(next_grad, shift)


model = Input(9, 9, 1) >> Conv2d(1, 4, 3) >> Shift(4) >> ReLU()

if __name__ == "__main__":
    model.init(np.random.default_rng(0))
    y = model.forward(np.ones((2, 9, 9, 1), np.float32))
    print(model.backward(y).input.shape)
