"""LeNet5's stack without a declared input: height and width stay open, and 16 divides 400."""

import numpy as np

from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, ReLU

body = Conv2d(1, 6, 5) >> ReLU() >> MaxPool2d(2) >> Conv2d(6, 16, 5) >> ReLU() >> MaxPool2d(2)
model = body >> Flatten() >> Linear(400, 120) >> ReLU() >> Linear(120, 84) >> ReLU() >> Linear(84, 10)

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model.init(rng)
    print(model.forward(rng.standard_normal((2, 32, 32, 1)).astype(np.float32)).shape)
