"""128 outputs into 127 inputs, in a model that is never called."""

from typednn.layers import Linear, ReLU

model = Linear(784, 128) >> ReLU() >> Linear(127, 10)  # right: model = Linear(784, 128) >> ReLU() >> Linear(128, 10)
