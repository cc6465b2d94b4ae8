"""LeNet5 stacked on a declared input."""

import numpy as np

from typednn import Input
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, Pad2d, ReLU

body = Input(28, 28, 1) >> Pad2d(2) >> Conv2d(1, 6, 5) >> ReLU() >> MaxPool2d(2) >> Conv2d(6, 16, 5) >> ReLU() >> MaxPool2d(2)
model = body >> Flatten() >> Linear(5 * 5 * 16, 120) >> ReLU() >> Linear(120, 84) >> ReLU() >> Linear(84, 10)

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model.init(rng)
    images = rng.standard_normal((4, 28, 28, 1)).astype(np.float32)
    print(model.forward(images).shape)
