"""A convolution that keeps the size: 8x8, not 6x6."""

from typednn import Input
from typednn.layers import Conv2d, Flatten, Linear

body = Input(8, 8, 3) >> Conv2d(3, 4, 3, padding="same")
model = body >> Flatten() >> Linear(6 * 6 * 4, 10)  # shape: expects 144 features, gets 256
