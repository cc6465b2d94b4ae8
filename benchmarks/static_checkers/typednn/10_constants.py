"""Channels from another module, height and width unknown."""

from sizes import CHANNELS, WIDTH

from typednn.layers import Conv2d, MaxPool2d, ReLU

body = Conv2d(1, CHANNELS, 3) >> ReLU() >> MaxPool2d(2)
model = body >> Conv2d(WIDTH, 32, 3)  # right: model = body >> Conv2d(CHANNELS, 32, 3)
