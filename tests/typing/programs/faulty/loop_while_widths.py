"""A while loop widens by two up to 64, and the last layer reads 48."""

from typing import Any

import numpy as np

from typednn import Sequential
from typednn.layers import Linear, ReLU

layers: list[Any] = []
width = 4
while width < 64:
    layers.append(Linear(width, 2 * width))
    layers.append(ReLU())
    width *= 2
layers.append(Linear(48, 100))  # shape
decoder = Sequential(layers)  # meets

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    decoder.init(rng)
    print(decoder.forward(rng.random((2, 4)).astype(np.float32)).shape)
