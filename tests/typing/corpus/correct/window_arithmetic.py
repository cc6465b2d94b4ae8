"""Strides, dilations, windows that overlap, paddings that differ, images that are not square."""

import numpy as np

from typednn import Input
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, Pad2d

strided = Input(28, 28, 1) >> Conv2d(1, 4, 5, stride=2) >> MaxPool2d(3, stride=2) >> Flatten() >> Linear(5 * 5 * 4, 10)
dilated = Input(20, 20, 3) >> Conv2d(3, 4, 3, dilation=2) >> MaxPool2d(2, dilation=3) >> Flatten() >> Linear(7 * 7 * 4, 2)
oblong = Input(32, 24, 1) >> Conv2d(1, 2, (5, 3)) >> MaxPool2d((4, 2)) >> Flatten() >> Linear(7 * 11 * 2, 2)
padded = Input(8, 8, 1) >> Pad2d((1, 2, 3, 4)) >> Conv2d(1, 2, (3, 2), stride=(2, 3)) >> Flatten() >> Linear(7 * 4 * 2, 2)
odd = Input(7, 7, 1) >> MaxPool2d(2) >> Flatten() >> Linear(9, 2)

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    sizes = ((28, 28, 1), (20, 20, 3), (32, 24, 1), (8, 8, 1), (7, 7, 1))
    for model, (height, width, channels) in zip((strided, dilated, oblong, padded, odd), sizes, strict=True):
        print(model.init(rng).forward(np.ones((2, height, width, channels), np.float32)).shape)
