"""LeNet5 stacked; the first affine map still has the sizes of a network with smaller images."""

from typednn import Input
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, Pad2d, ReLU

body = Input(28, 28, 1) >> Pad2d(2) >> Conv2d(1, 6, 5) >> ReLU() >> MaxPool2d(2) >> Conv2d(6, 16, 5) >> ReLU() >> MaxPool2d(2)
head = Linear(120, 84) >> ReLU() >> Linear(84, 10)
model = body >> Flatten() >> Linear(256, 120) >> ReLU() >> head  # shape: expects 256 features, gets 400
