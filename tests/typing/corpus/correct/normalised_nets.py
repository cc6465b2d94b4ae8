"""Normalisation and dropout of images, sequences and rows."""

import numpy as np

from typednn import Input
from typednn.layers import (
    BatchNorm1d,
    BatchNorm2d,
    Conv2d,
    Dropout,
    Dropout2d,
    Flatten,
    GroupNorm,
    LayerNorm,
    Linear,
    ReLU,
    RMSNorm,
    SequenceLinear,
)

rng = np.random.default_rng(0)
images = Input(8, 8, 3) >> Conv2d(3, 6, 3) >> BatchNorm2d(6) >> ReLU() >> Dropout2d(0.1) >> GroupNorm(2, 6) >> Flatten()
model = (images >> Linear(216, 10) >> BatchNorm1d(10) >> ReLU() >> Dropout(0.5) >> LayerNorm(10) >> Linear(10, 2)).init(rng)
grad = model.backward(model.forward(np.ones((4, 8, 8, 3), np.float32)))
print(grad.parts[1].weight, grad.parts[7].parameters.weight)

sequences = (Input(5, 4) >> SequenceLinear(4, 6) >> BatchNorm1d(6) >> LayerNorm(6) >> RMSNorm(6)).init(rng)
print(sequences.forward(np.ones((3, 5, 4), np.float32)).shape)
