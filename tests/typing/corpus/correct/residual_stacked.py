"""A residual net of Residual blocks, in images and in rows."""

import numpy as np

from typednn import Input
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, Pad2d, ReLU, Residual

images = Input(16, 16, 3) >> Pad2d(1) >> Conv2d(3, 8, 3) >> ReLU()
blocks = images >> Residual(Pad2d(1) >> Conv2d(8, 8, 3) >> ReLU()) >> Residual(Pad2d(2) >> Conv2d(8, 8, 5)) >> MaxPool2d(4)
model = blocks >> Flatten() >> Residual(Linear(128, 32) >> ReLU() >> Linear(32, 128)) >> Linear(128, 10)

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model.init(rng)
    print(model.forward(rng.standard_normal((2, 16, 16, 3)).astype(np.float32)).shape)
