"""128 meets 127 in a model that nothing calls."""

from torch import nn

first, relu = nn.Linear(784, 128), nn.ReLU()
model = nn.Sequential(first, relu, nn.Linear(127, 10))  # right: model = nn.Sequential(first, relu, nn.Linear(128, 10))
