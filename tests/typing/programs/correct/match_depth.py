"""A residual network whose widths depend on its depth."""

from typing import Any

import numpy as np

from typednn import Array2, Array4, Chain
from typednn.layers import Conv2d, GlobalAvgPool2d, Linear
from typednn.models import BasicBlock


def width(depth: int) -> int:
    match depth:
        case 10:
            return 16
        case 18:
            return 32
        case _:
            raise ValueError(f"no network of depth {depth}")


def resnet(depth: int, classes: int) -> Chain[Array4, Array2, str, *tuple[Any, ...]]:
    channels = width(depth)
    stem = Conv2d(3, channels, 3, padding=1)
    blocks = BasicBlock(channels, channels) >> BasicBlock(channels, 2 * channels, stride=2)
    return stem >> blocks >> GlobalAvgPool2d() >> Linear(2 * channels, classes)


small = resnet(10, classes=10)

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    print(small.init(rng).forward(np.zeros((1, 8, 8, 3), np.float32)).shape)
