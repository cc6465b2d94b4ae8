"""A batch normalisation for the channels before the convolution."""

from typednn import Input
from typednn.layers import BatchNorm2d, Conv2d, ReLU

model = Input(16, 16, 3) >> Conv2d(3, 6, 3) >> BatchNorm2d(3) >> ReLU()  # shape: gets 6
