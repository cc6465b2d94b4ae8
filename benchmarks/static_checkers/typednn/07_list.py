"""The same, with the layers collected in a list by a loop."""

from typednn import Sequential
from typednn.layers import Linear, ReLU

widths = [(784, 128), (127, 64), (64, 10)]  # right: widths = [(784, 128), (128, 64), (64, 10)]
layers: list[Linear | ReLU] = []
for inputs, outputs in widths:
    layers += [Linear(inputs, outputs), ReLU()]
model = Sequential(layers)
