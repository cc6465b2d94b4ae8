"""A stack without a declared input; whatever height and width are, 16 times them is never 401."""

from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, ReLU

body = Conv2d(1, 6, 5) >> ReLU() >> MaxPool2d(2) >> Conv2d(6, 16, 5) >> ReLU() >> MaxPool2d(2)
model = body >> Flatten() >> Linear(401, 10)  # shape: expects 401 features
