"""Overlapping pooling windows, counted as if they did not overlap."""

from typednn import Input
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d

body = Input(28, 28, 1) >> Conv2d(1, 4, 5) >> MaxPool2d(3, stride=2)
model = body >> Flatten() >> Linear(8 * 8 * 4, 10)  # shape: expects 256 features, gets 484
