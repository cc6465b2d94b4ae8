"""A third convolution finds an image smaller than its kernel."""

from typednn import Input
from typednn.layers import Conv2d, MaxPool2d

body = Input(28, 28, 1) >> Conv2d(1, 6, 5) >> MaxPool2d(2) >> Conv2d(6, 16, 5) >> MaxPool2d(2)
model = body >> Conv2d(16, 120, 5)  # shape: kernel does not fit
