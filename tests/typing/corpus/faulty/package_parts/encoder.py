"""Rows to codes."""

from typednn.layers import Linear, ReLU

encoder = Linear(100, 50) >> ReLU() >> Linear(50, 20)
