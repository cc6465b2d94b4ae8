"""A ResNet block with a shortcut, Inception's branches, and a U-Net level: sizes go through paths side by side."""

import numpy as np

from typednn import Input
from typednn.layers import (
    AvgPool2d,
    Concat,
    Conv2d,
    GlobalAvgPool2d,
    Identity,
    Linear,
    MaxPool2d,
    Pad2d,
    ReLU,
    Residual,
    Upsample,
)

stem = Input(16, 16, 3) >> MaxPool2d(3, 2, 1)
smaller = Residual(Pad2d(1) >> Conv2d(3, 8, 3, 2) >> ReLU() >> Pad2d(1) >> Conv2d(8, 8, 3), shortcut=Conv2d(3, 8, 1, 2))
level = Concat(Identity(), MaxPool2d(2) >> Conv2d(8, 16, 1) >> Upsample(2, "bilinear"))
branches = Concat(Conv2d(24, 4, 1), Pad2d(1) >> Conv2d(24, 5, 3), AvgPool2d(3, 1, 1) >> Conv2d(24, 6, 1))
model = (stem >> smaller >> level >> branches >> GlobalAvgPool2d() >> Linear(15, 10)).init(np.random.default_rng(0))
assert model.forward(np.ones((2, 16, 16, 3), np.float32)).shape == (2, 10)
