"""LeNet5 stacked; the second convolution reads as many channels as it gives."""

from typednn import Input
from typednn.layers import Conv2d, MaxPool2d, Pad2d, ReLU

body = Input(28, 28, 1) >> Pad2d(2) >> Conv2d(1, 6, 5) >> ReLU() >> MaxPool2d(2) >> Conv2d(16, 16, 5)  # shape: expects 16 channels, gets 6
