"""The image that a row becomes has one channel."""

from typednn import Input
from typednn.layers import Conv2d, Reshape

model = Input(784) >> Reshape(28, 28, 1) >> Conv2d(3, 6, 5)  # shape: gets 1
