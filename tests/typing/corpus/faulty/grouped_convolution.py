"""Padding of rows alone, and groups: 10x8 remain of 10x10, of 16 channels whatever the groups."""

from typednn import Input
from typednn.layers import Conv2d, Flatten, Linear

body = Input(10, 10, 4) >> Conv2d(4, 16, 3, padding=(1, 0), groups=2)
narrow = body >> Conv2d(8, 4, 1)  # shape: expects 8 channels, gets 16
model = body >> Flatten() >> Linear(10 * 10 * 16, 2)  # shape: expects 1600 features, gets 1280
