"""Two stacks with a mistake each; running it meets the first."""

from typednn import Input
from typednn.layers import Conv2d, Flatten, Linear, ReLU

rows = Input(10) >> Linear(10, 5) >> ReLU() >> Linear(6, 2)  # shape: expects 6 features, gets 5
images = Input(6, 6, 2) >> Conv2d(2, 3, 3) >> Flatten() >> Linear(47, 2)  # shape: expects 47 features, gets 48
