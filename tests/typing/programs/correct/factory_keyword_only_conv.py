"""Convolution blocks from a factory whose options are keyword-only."""

from typing import Any

import numpy as np

from typednn import Array4, Chain, Input
from typednn.layers import BatchNorm2d, Conv2d, Flatten, Linear, MaxPool2d, ReLU

Images = Chain[Array4, Array4, str, *tuple[Any, ...]]


def conv_block(in_channels: int, out_channels: int, *, kernel: int = 3, pool: bool = False) -> Images:
    block = Conv2d(in_channels, out_channels, kernel, padding=kernel // 2) >> BatchNorm2d(out_channels) >> ReLU()
    if pool:
        return block >> MaxPool2d(2)
    return block


model = (
    Input(32, 32, 3)
    >> conv_block(3, 16, kernel=5, pool=True)
    >> conv_block(16, 32)
    >> conv_block(32, 32, pool=True)
    >> Flatten()
    >> Linear(8 * 8 * 32, 10)
)

if __name__ == "__main__":
    model.init(np.random.default_rng(0))
    print(model.forward(np.zeros((2, 32, 32, 3), np.float32)).shape)
