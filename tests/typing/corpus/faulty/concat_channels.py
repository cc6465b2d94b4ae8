"""A U-Net level: the layer after it counts the channels of one branch only."""

from typednn import Input
from typednn.layers import Concat, Conv2d, Identity, MaxPool2d, Upsample

level = Concat(Identity(), MaxPool2d(2) >> Conv2d(8, 16, 1) >> Upsample(2))
model = Input(16, 16, 8) >> level >> Conv2d(16, 4, 1)  # shape: expects 16 channels, gets 24
