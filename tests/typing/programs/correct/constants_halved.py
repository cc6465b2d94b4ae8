"""A pyramid that halves an image until it is small."""

from typing import Any, Final

import numpy as np

from typednn import Array4, Input, Layer
from typednn.layers import AvgPool2d, Conv2d, Flatten, Linear, ReLU

SIDE: Final = 32
LAST: Final = 4
CHANNELS: Final[int] = 5

side = SIDE
pyramid: Layer[Array4, Array4, Any] = Conv2d(1, CHANNELS, 3, padding=1)
while side > 4:
    pyramid = pyramid >> AvgPool2d(2) >> ReLU()
    side //= 2

model = Input(SIDE, SIDE, 1) >> pyramid >> Flatten() >> Linear(LAST * LAST * CHANNELS, 2)

if __name__ == "__main__":
    print(model.init(np.random.default_rng(0)).forward(np.zeros((1, SIDE, SIDE, 1), np.float32)).shape)
