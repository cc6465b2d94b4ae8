"""A residual block in images; its convolution shrinks them, as nothing is padded."""

from typednn import Input
from typednn.layers import Conv2d, ReLU, Residual

block = Residual(Conv2d(8, 8, 3) >> ReLU())  # shape: must keep the shape
model = Input(16, 16, 8) >> block
