"""A U-Net of a function that makes two convolutions: after the joint they read the deep channels alone."""

from typing import Any

from typednn import Array4, Chain, Input
from typednn.layers import Concat, Conv2d, Identity, MaxPool2d, ReLU, Upsample


def two(in_channels: int, channels: int) -> Chain[Array4, Array4, str, *tuple[Any, ...]]:
    return Conv2d(in_channels, channels, 3, padding=1) >> ReLU() >> Conv2d(channels, channels, 3, padding=1) >> ReLU()


def unet(image: tuple[int, int, int]) -> Chain[Array4, Array4, str, *tuple[Any, ...]]:
    lower = MaxPool2d(2) >> two(8, 16) >> Upsample(2)
    return Input(*image) >> two(image[2], 8) >> Concat(Identity(), lower) >> two(16, 8)  # shape: 16 channels, gets 24


model = unet((16, 16, 3))
