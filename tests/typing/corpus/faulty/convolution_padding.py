"""A padding of (height, width), and two rows forgotten."""

from typednn import Input
from typednn.layers import Conv2d, Flatten, Linear

body = Input(8, 8, 3) >> Conv2d(3, 4, 3, 2, (2, 1))
model = body >> Flatten() >> Linear(4 * 4 * 4, 10)  # shape: expects 64 features, gets 80
