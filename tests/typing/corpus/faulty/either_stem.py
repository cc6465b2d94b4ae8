"""A stem that depends on the image's size: whichever it is, it gives 32 channels."""

from typing import Any

from typednn import Array2, Array4, Chain, Input
from typednn.layers import BatchNorm2d, Conv2d, GlobalAvgPool2d, Linear, MaxPool2d


def stem(image: tuple[int, int, int]) -> Chain[Array4, Array4, str, *tuple[Any, ...]]:
    *sides, channels = image
    if min(sides) < 64:
        return Conv2d(channels, 32, 3, padding=1) >> BatchNorm2d(32)
    return Conv2d(channels, 32, 7, 2, 3) >> BatchNorm2d(32) >> MaxPool2d(3, 2, 1)


def net(image: tuple[int, int, int], classes: int) -> Chain[Array4, Array2, str, *tuple[Any, ...]]:
    return Input(*image) >> stem(image) >> Conv2d(64, 64, 3) >> GlobalAvgPool2d() >> Linear(64, classes)  # shape: 64 channels, gets 32


model = net((32, 32, 3), 10)
