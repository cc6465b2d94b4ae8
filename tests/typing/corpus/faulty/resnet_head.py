"""A ResNet of bottlenecks, which give four times their channels: the head reads too few, and so does a second block."""

from typednn import Input
from typednn.layers import BatchNorm2d, Conv2d, GlobalAvgPool2d, Linear, MaxPool2d, Repeat
from typednn.models import Bottleneck

stem = Input(64, 64, 3) >> Conv2d(3, 64, 7, 2, 3) >> BatchNorm2d(64) >> MaxPool2d(3, 2, 1) >> Bottleneck(64, 64)
right = stem >> Repeat(Bottleneck(256, 64), 2) >> GlobalAvgPool2d() >> Linear(256, 10)
head = stem >> GlobalAvgPool2d() >> Linear(64, 10)  # shape: expects 64 features, gets 256
copies = stem >> Repeat(Bottleneck(64, 64), 2)  # shape: expects 64 channels, gets 256
