"""A row of 780 numbers is no image of 28 x 28."""

from typednn import Input
from typednn.layers import Reshape

model = Input(780) >> Reshape(28, 28, 1)  # shape: Reshape(28, 28, 1) cannot follow Input(780): expects 784 numbers, gets 780
