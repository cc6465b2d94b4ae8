"""128 outputs into 127 inputs, in a model that is never called."""

from torch import nn

first, relu = nn.Linear(784, 128), nn.ReLU()
model = nn.Sequential(first, relu, nn.Linear(127, 10))  # right: model = nn.Sequential(first, relu, nn.Linear(128, 10))
