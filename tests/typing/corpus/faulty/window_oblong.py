"""Images of 32 x 24 pixels, pooled, and counted as if they were square."""

from typednn import Input
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, ReLU

body = Input(32, 24, 1) >> Conv2d(1, 2, 5) >> ReLU() >> MaxPool2d(2)
model = body >> Flatten() >> Linear(14 * 14 * 2, 10)  # shape: expects 392 features, gets 280
