"""A width that is doubled between the stages."""

import numpy as np

from typednn import Input
from typednn.layers import Conv2d, GlobalAvgPool2d, Linear, MaxPool2d, ReLU

width = 8
stem = Input(24, 24, 1) >> Conv2d(1, width, 3, padding=1) >> ReLU() >> MaxPool2d(2)
stage1 = stem >> Conv2d(width, 2 * width, 3, padding=1) >> ReLU()
width *= 2
stage2 = stage1 >> Conv2d(width, 2 * width, 3, padding=1) >> ReLU()
width *= 2
model = stage2 >> GlobalAvgPool2d() >> Linear(width, 10)

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model.init(rng)
    print(model.forward(rng.random((2, 24, 24, 1)).astype(np.float32)).shape)
