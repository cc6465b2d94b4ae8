"""A LeNet of convolutions that partial gives a kernel and a padding."""

from functools import partial

import numpy as np

from typednn import Input
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, ReLU

conv3 = partial(Conv2d, kernel_size=3, padding=1)
to_ten = partial(Linear, out_features=10)

features = Input(28, 28, 1) >> conv3(1, 6) >> ReLU() >> MaxPool2d(2) >> conv3(6, 16) >> ReLU() >> MaxPool2d(2)
model = features >> Flatten() >> to_ten(7 * 7 * 16)

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model.init(rng)
    print(model.forward(rng.standard_normal((2, 28, 28, 1)).astype(np.float32)).shape)
