"""A U-net of convolutions that joins channels on its way up."""

import numpy as np
from jaxtyping import Float

from typednn import Array4
from typednn.layers import Conv2d, MaxPool2d, Pad2d, ReLU
from typednn.random import Rng


def doubled(x: Float[Array4, "batch height width channels"]) -> Float[Array4, "batch 2*height 2*width channels"]:
    return x.repeat(2, axis=1).repeat(2, axis=2)


def joined(
    x: Float[Array4, "batch height width left"], y: Float[Array4, "batch height width right"]
) -> Float[Array4, "batch height width left+right"]:
    return np.concatenate([x, y], axis=3)


class UNet:
    def __init__(self, rng: Rng) -> None:
        self.down1 = (Pad2d(1) >> Conv2d(1, 4, 3) >> ReLU()).init(rng)
        self.pool = MaxPool2d(2)
        self.down2 = (Pad2d(1) >> Conv2d(4, 8, 3) >> ReLU()).init(rng)
        self.up = (Pad2d(1) >> Conv2d(12, 4, 3) >> ReLU()).init(rng)
        self.out = Conv2d(4, 1, 1, rng=rng)

    def forward(self, x: Float[Array4, "batch 16 16 1"]) -> Float[Array4, "batch 16 16 1"]:
        skip = self.down1.forward(x)
        h = self.down2.forward(self.pool.forward(skip))
        h = joined(doubled(h), skip)
        return self.out.forward(self.up.forward(h))


if __name__ == "__main__":
    print(UNet(np.random.default_rng(0)).forward(np.ones((2, 16, 16, 1), np.float32)).shape)
