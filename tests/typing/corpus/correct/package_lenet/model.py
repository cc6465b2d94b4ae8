"""The model."""

from package_lenet import sizes
from package_lenet.blocks import Centred
from package_lenet.sizes import CLASSES, FEATURES, KERNEL
from typednn import Input
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, ReLU

body = Input(sizes.SIDE, sizes.SIDE, 1) >> Conv2d(1, sizes.CHANNELS, KERNEL) >> ReLU() >> MaxPool2d(2)
model = body >> Flatten() >> Centred() >> Linear(FEATURES, CLASSES)
