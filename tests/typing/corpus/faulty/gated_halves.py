"""A gate halves the features: 16 come out of the 32 that it reads."""

from typednn import Input
from typednn.layers import GLU, Residual, SequenceLinear

model = Input(20, 16) >> SequenceLinear(16, 32) >> GLU() >> SequenceLinear(32, 4)  # shape: expects 32 features, gets 16 (= 32//2
sums = Input(20, 16) >> Residual(SequenceLinear(16, 16) >> GLU())  # shape: must keep the shape: gets 20x16, gives 20x8
