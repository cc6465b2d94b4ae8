"""Functions that make layers: what they give depends on their arguments, on a default, on a choice, on themselves."""

from typing import Any

import numpy as np

from typednn import Array4, Chain, Input
from typednn.layers import BatchNorm2d, Concat, Conv2d, GlobalAvgPool2d, Identity, Linear, MaxPool2d, ReLU, Residual, Upsample

Images = Chain[Array4, Array4, str, *tuple[Any, ...]]


def block(in_channels: int, channels: int, *, kernel: int = 3) -> Images:
    return Conv2d(in_channels, channels, kernel, padding=kernel // 2) >> BatchNorm2d(channels) >> ReLU()


def shortcut(in_channels: int, channels: int, stride: int) -> Images | None:
    if stride == 1 and in_channels == channels:
        return None
    return Conv2d(in_channels, channels, 1, stride) >> BatchNorm2d(channels)


def stem(image: tuple[int, int, int]) -> Images:
    *sides, channels = image
    if min(sides) < 64:
        return block(channels, 8)
    return block(channels, 8, kernel=7) >> MaxPool2d(3, 2, 1)


def level(channels: int, depth: int) -> Images:
    """A U-Net of ``depth`` levels: each has twice the channels of the one above it."""
    if depth == 0:
        return block(channels, channels)
    lower = MaxPool2d(2) >> block(channels, 2 * channels) >> level(2 * channels, depth - 1) >> Upsample(2)
    return Concat(Identity(), lower) >> block(3 * channels, channels)


def chosen(wide: bool) -> Images:
    return block(8, 16) if wide else block(8, 12)


def narrowed(wide: bool) -> Images:
    body = chosen(wide)
    return body >> block(16, 4) if wide else body >> block(12, 4)


down = Residual(block(8, 16) >> MaxPool2d(2), shortcut(8, 16, 2))
same = Residual(block(16, 16) >> block(16, 16), shortcut(16, 16, 1))
image = (32, 32, 3)
model = Input(*image) >> stem(image) >> level(8, 2) >> down >> same >> GlobalAvgPool2d() >> Linear(16, 10)
assert model.init(np.random.default_rng(0)).forward(np.ones((2, *image), np.float32)).shape == (2, 10)
for wide in (True, False):
    either = (Input(8, 8, 8) >> narrowed(wide)).init(np.random.default_rng(0))
    assert either.forward(np.ones((1, 8, 8, 8), np.float32)).shape == (1, 8, 8, 4)
