"""A layer normalisation of seven features after a map to six, in a sequence."""

from typednn import Input
from typednn.layers import LayerNorm, SequenceLinear

model = Input(5, 4) >> SequenceLinear(4, 6) >> LayerNorm(7)  # shape: gets 6
