"""The model."""

from package_constants import sizes
from package_constants.sizes import FLAT
from typednn import Input
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, ReLU

body = Input(sizes.SIDE, sizes.SIDE, 1) >> Conv2d(1, sizes.CHANNELS, 3, padding=1) >> ReLU() >> MaxPool2d(2)
model = body >> Flatten() >> Linear(FLAT, 10)
