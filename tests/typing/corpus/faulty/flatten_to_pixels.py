"""A pixel of an image is a position with its channels."""

from typednn import Input
from typednn.layers import Flatten, SequenceLinear

model = Input(6, 5, 2) >> Flatten(1, 2) >> SequenceLinear(3, 4)  # shape: expects 3 features, gets 2
