"""A VGG as a subclass of Sequential, from a list of widths."""

from typing import Any

import numpy as np

from typednn import Input, Sequential
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, ReLU


class VGG(Sequential[Any]):
    WIDTHS = (8, 16)
    SIDE = 32

    def __init__(self, classes: int) -> None:
        layers: list[Any] = []
        channels = 3
        for width in self.WIDTHS:
            layers += [Conv2d(channels, width, 3, padding=1), ReLU(), MaxPool2d(2)]
            channels = width
        side = self.SIDE // 4
        layers += [Flatten(), Linear(side * side * channels, classes)]
        super().__init__(layers, input=Input(self.SIDE, self.SIDE, 3))


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    print(VGG(10).init(rng).forward(np.zeros((1, 32, 32, 3), np.float32)).shape)
