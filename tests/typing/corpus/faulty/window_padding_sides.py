"""A padding of left, right, top, bottom: one column and three rows more."""

from typednn import Input
from typednn.layers import Flatten, Linear, Pad2d

padded = Input(8, 8, 1) >> Pad2d((1, 0, 2, 1))
model = padded >> Flatten() >> Linear(9 * 9, 10)  # shape: expects 81 features, gets 99
