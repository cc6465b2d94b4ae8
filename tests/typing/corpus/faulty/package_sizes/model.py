"""The model."""

from package_sizes.sizes import CLASSES, FEATURES, SIDE
from typednn import Input
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, ReLU

body = Input(SIDE, SIDE, 1) >> Conv2d(1, 6, 5) >> ReLU() >> MaxPool2d(2)
model = body >> Flatten() >> Linear(FEATURES, CLASSES)  # shape: expects 144 features, gets 864
