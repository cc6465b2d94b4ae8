"""Running statistics of images: the mean keeps the batch, so it does not fit into the buffer."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from typednn import Array1, Array4, Buffer, Gradient, Layer, S


@dataclass(frozen=True)
class NormGrad(Gradient):
    input: Float[Array4, "batch height width channels"]


class Norm(Layer[Array4, Array4, NormGrad, S]):
    mean: Buffer[Float[Array1, " {self.channels}"]]

    def __init__(self, channels: int, momentum: float = 0.1) -> None:
        self.channels, self.momentum = channels, momentum
        self.initialise_with(mean="zeros")

    def forward(self, x: Float[Array4, "batch height width {self.channels}"]) -> Float[Array4, "batch height width {self.channels}"]:
        if not self.training:
            return x - self.mean
        mean = x.mean(axis=(1, 2))
        self.mean += self.momentum * (mean - self.mean)  # shape: batch
        y: Array4 = x - mean
        return y

    def backward(self, next_grad: Float[Array4, "batch height width {self.channels}"]) -> NormGrad:
        return NormGrad(next_grad - next_grad.mean(axis=(0, 1, 2)))


if __name__ == "__main__":
    layer = Norm(3).init(np.random.default_rng(0))
    print(layer.backward(layer.forward(np.ones((2, 5, 7, 3), np.float32))).input.shape)
