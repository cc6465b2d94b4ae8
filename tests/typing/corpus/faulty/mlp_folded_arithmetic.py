"""An MLP after pooling; 4 * 4 * 16 was written where 5 * 5 * 16 arrive."""

from typednn import Input
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d

body = Input(14, 14, 6) >> Conv2d(6, 16, 5) >> MaxPool2d(2)
model = body >> Flatten() >> Linear(4 * 4 * 16, 120)  # shape: expects 256 features, gets 400
