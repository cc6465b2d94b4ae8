"""128 meets 127 in a model that nothing calls."""

from typednn.layers import Linear, ReLU

model = Linear(784, 128) >> ReLU() >> Linear(127, 10)  # right: model = Linear(784, 128) >> ReLU() >> Linear(128, 10)
