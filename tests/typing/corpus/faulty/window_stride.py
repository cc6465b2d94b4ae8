"""A strided convolution: 12 rows and columns come out, 13 were counted."""

from typednn import Input
from typednn.layers import Conv2d, Flatten, Linear

model = Input(28, 28, 1) >> Conv2d(1, 4, 5, stride=2) >> Flatten() >> Linear(13 * 13 * 4, 10)  # shape: expects 676 features, gets 576
