"""Pools that overlap at the border, of 11x11: 6x6 remain, and then the 2x2 that are asked for."""

from typednn import Input
from typednn.layers import AdaptiveAvgPool2d, AvgPool2d, Flatten, Linear, MaxPool2d

pooled = Input(11, 11, 4) >> MaxPool2d(3, 2, 1)
flat = pooled >> AvgPool2d(3, 1, 1) >> Flatten() >> Linear(5 * 5 * 4, 2)  # shape: expects 100 features, gets 144
model = pooled >> AdaptiveAvgPool2d((2, 2)) >> Flatten() >> Linear(4, 2)  # shape: expects 4 features, gets 16
