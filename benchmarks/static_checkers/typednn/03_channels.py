"""Colour images into a convolution that reads one channel."""

from typednn import Input
from typednn.layers import Conv2d, ReLU

model = Input(32, 32, 3) >> Conv2d(1, 6, 5) >> ReLU()  # right: model = Input(32, 32, 3) >> Conv2d(3, 6, 5) >> ReLU()
