"""LeNet5 stacked without its padding: 256 features arrive where 400 were counted."""

from typednn import Input
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, ReLU

body = Input(28, 28, 1) >> Conv2d(1, 6, 5) >> ReLU() >> MaxPool2d(2) >> Conv2d(6, 16, 5) >> ReLU() >> MaxPool2d(2)
features = body >> Flatten()
model = features >> Linear(400, 120) >> ReLU() >> Linear(120, 84) >> ReLU() >> Linear(84, 10)  # shape: expects 400 features, gets 256
