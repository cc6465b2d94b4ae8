"""A residual bottleneck that comes back with fewer features than it read."""

from typednn import Input
from typednn.layers import Linear, ReLU, Residual

bottleneck = Linear(64, 16) >> ReLU() >> Linear(16, 32)
block = Residual(bottleneck)  # shape: must keep the shape: gets 64, gives 32
model = Input(64) >> block >> Linear(64, 10)
