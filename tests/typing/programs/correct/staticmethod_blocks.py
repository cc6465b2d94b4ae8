"""A ResNet-like class that makes its blocks with a static method."""

from typing import Any

import numpy as np
from jaxtyping import Float

from typednn import Array2, Array4, Layer
from typednn.layers import BatchNorm2d, Conv2d, GlobalAvgPool2d, Linear, ReLU, Residual
from typednn.random import Rng


class SmallResNet:
    WIDTH = 16

    def __init__(self, rng: Rng) -> None:
        self.stem = Conv2d(3, self.WIDTH, 3, padding=1)
        self.stage1 = self.stage(self.WIDTH, 2 * self.WIDTH)
        self.stage2 = self.stage(2 * self.WIDTH, 64)
        self.body = self.stem >> self.stage1 >> self.stage2 >> GlobalAvgPool2d() >> Linear(64, 10)
        self.body.init(rng)

    @staticmethod
    def stage(channels: int, wider: int) -> Layer[Array4, Array4, Any]:
        inner = Conv2d(channels, wider, 3, 2, padding=1) >> BatchNorm2d(wider) >> ReLU() >> Conv2d(wider, wider, 3, padding=1)
        return Residual(inner, shortcut=Conv2d(channels, wider, 1, 2))

    def forward(self, x: Float[Array4, "batch height width 3"]) -> Float[Array2, "batch 10"]:
        return self.body.forward(x)


if __name__ == "__main__":
    net = SmallResNet(np.random.default_rng(0))
    print(net.forward(np.zeros((2, 16, 16, 3), np.float32)).shape)
