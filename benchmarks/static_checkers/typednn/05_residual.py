"""A residual block whose inner layers change the width, so x + inner(x) is impossible."""

from typednn.layers import Linear, ReLU, Residual

inner = Linear(64, 64) >> ReLU() >> Linear(64, 32)  # right: inner = Linear(64, 64) >> ReLU() >> Linear(64, 64)
block = Residual(inner)
model = block >> Linear(64, 10)
