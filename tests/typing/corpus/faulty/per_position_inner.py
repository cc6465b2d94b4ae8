"""A feed-forward block per position that does not fit itself."""

from typednn import Input
from typednn.layers import Linear, PerPosition, ReLU

block = PerPosition(Linear(16, 64) >> ReLU() >> Linear(32, 16))  # shape: expects 32 features, gets 64
model = Input(10, 16) >> block
