"""A dilated convolution reaches further: 16 rows and columns, not 18."""

from typednn import Input
from typednn.layers import Conv2d, Flatten, Linear

model = Input(20, 20, 1) >> Conv2d(1, 2, 3, dilation=2) >> Flatten() >> Linear(18 * 18 * 2, 2)  # shape: expects 648 features, gets 512
