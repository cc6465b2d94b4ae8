"""A Stack, the class behind configs, with a layer that does not fit."""

from typednn import Stack
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d

model = Stack([Conv2d(1, 6, 5), MaxPool2d(2), Flatten(), Linear(256, 10)], input=(28, 28, 1))  # shape: expects 256 features, gets 864
