"""LeNet5 by hand; its last layer gives 11 scores, and forward promises 10."""

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float

from typednn import Array2, Array4, Gradient, Layer, S
from typednn.layers import Conv2d, Conv2dGrad, Flatten, Linear, LinearGrad, MaxPool2d, ReLU


@final
@dataclass(frozen=True, slots=True)
class SmallGrad(Gradient):
    input: Float[Array4, "batch 28 28 1"]
    conv: Conv2dGrad
    fc: LinearGrad


@final
class Small(Layer[Array4, Array2, SmallGrad, S]):
    def __init__(self) -> None:
        self.conv = Conv2d(1, 6, 5)
        self.relu = ReLU()
        self.pool = MaxPool2d(2)
        self.flatten = Flatten()
        self.fc = Linear(12 * 12 * 6, 11)

    def forward(self, x: Float[Array4, "batch 28 28 1"]) -> Float[Array2, "batch 10"]:
        images = self.pool.forward(self.relu.forward(self.conv.forward(x)))
        return self.fc.forward(self.flatten.forward(images))  # shape: 11

    def backward(self, next_grad: Float[Array2, "batch 10"]) -> SmallGrad:
        fc = self.fc.backward(next_grad)  # shape: 11
        images = self.flatten.backward(fc.input).input
        conv = self.conv.backward(self.relu.backward(self.pool.backward(images).input).input)
        return SmallGrad(conv.input, conv, fc)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    Small().init(rng).forward(rng.standard_normal((2, 28, 28, 1)).astype(np.float32))
