"""The mean of windows of 2: backward repeats the rows twice and the columns never."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from typednn import Array4, Gradient, Kept, Layer, S


@dataclass(frozen=True)
class PoolGrad(Gradient):
    input: Float[Array4, "batch height width channels"]


class Pool(Layer[Array4, Array4, PoolGrad, S]):
    _x: Kept[Float[Array4, "batch height width channels"]]

    def forward(self, x: Float[Array4, "batch height width channels"]) -> Float[Array4, "batch height//2 width//2 channels"]:
        self._x = x
        batch, height, width, channels = x.shape
        y: Array4 = x.reshape(batch, height // 2, 2, width // 2, 2, channels).mean(axis=(2, 4))
        return y

    def backward(self, next_grad: Float[Array4, "batch rows columns channels"]) -> PoolGrad:
        dx = next_grad.repeat(2, axis=1).repeat(2, axis=1) / 4.0
        return PoolGrad(dx)  # shape: input


if __name__ == "__main__":
    layer = Pool()
    print(layer.backward(layer.forward(np.ones((7, 10, 22, 3), np.float32))).input.shape)
