"""Images of twice the height and width."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from typednn import Array4, Gradient, Layer, S


@dataclass(frozen=True)
class UpsampleGrad(Gradient):
    input: Float[Array4, "batch height width channels"]


class Upsample(Layer[Array4, Array4, UpsampleGrad, S]):
    def forward(self, x: Float[Array4, "batch height width channels"]) -> Float[Array4, "batch 2*height 2*width channels"]:
        y: Array4 = x.repeat(2, axis=1).repeat(2, axis=2)
        return y

    def backward(self, next_grad: Float[Array4, "batch rows columns channels"]) -> UpsampleGrad:
        batch, rows, columns, channels = next_grad.shape
        return UpsampleGrad(next_grad.reshape(batch, rows // 2, 2, columns // 2, 2, channels).sum(axis=(2, 4)))


if __name__ == "__main__":
    layer = Upsample()
    print(layer.backward(layer.forward(np.ones((2, 5, 7, 3), np.float32))).input.shape)
