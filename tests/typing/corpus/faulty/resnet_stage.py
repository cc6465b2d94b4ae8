"""A ResNet whose second stage goes on with the channels of the first."""

from typednn import Input
from typednn.layers import BatchNorm2d, Conv2d, ReLU, Repeat
from typednn.models import BasicBlock

stem = Input(32, 32, 3) >> Conv2d(3, 64, 3, 1, 1) >> BatchNorm2d(64) >> ReLU()
stages = stem >> Repeat(BasicBlock(64, 64), 2) >> BasicBlock(64, 128, 2) >> BasicBlock(64, 64)  # shape: expects 64 channels, gets 128
