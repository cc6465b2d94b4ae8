"""LeNet5 stacked: the second pool has 5*5*16 = 400 outputs."""

from typednn import Input
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, Pad2d, ReLU

body = Input(28, 28, 1) >> Pad2d(2) >> Conv2d(1, 6, 5) >> ReLU() >> MaxPool2d(2) >> Conv2d(6, 16, 5) >> ReLU() >> MaxPool2d(2)
features = body >> Flatten() >> Linear(256, 120)  # right: features = body >> Flatten() >> Linear(400, 120)
model = features >> ReLU() >> Linear(120, 84) >> ReLU() >> Linear(84, 10)
