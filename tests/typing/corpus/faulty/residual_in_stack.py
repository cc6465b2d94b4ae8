"""A residual block for 128 features where 64 come."""

from typednn import Input
from typednn.layers import Linear, ReLU, Residual

wide = Residual(Linear(128, 128) >> ReLU())
model = Input(32) >> Linear(32, 64) >> ReLU() >> wide >> Linear(128, 10)  # shape: expects 128 features, gets 64
