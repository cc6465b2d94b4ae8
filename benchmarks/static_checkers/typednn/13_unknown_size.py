"""Flattened at an unknown height and width: 16*h*w can be 400, but never 120."""

from typednn.layers import Conv2d, Flatten, Linear

body = Conv2d(1, 16, 3) >> Flatten()
model = body >> Linear(120, 10)  # right: model = body >> Linear(400, 10)
