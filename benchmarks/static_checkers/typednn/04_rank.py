"""Images into an affine map, without Flatten."""

from typednn import Input
from typednn.layers import Conv2d, Flatten, Linear

body, flatten = Input(28, 28, 1) >> Conv2d(1, 6, 5), Flatten()
model = body >> Linear(3456, 10)  # right: model = body >> flatten >> Linear(3456, 10)
