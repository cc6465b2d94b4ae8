"""A decoder whose layers a while loop makes, each twice as wide."""

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
layers.append(Linear(64, 100))
decoder = Sequential(layers)

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    decoder.init(rng)
    print(decoder.forward(rng.random((2, 4)).astype(np.float32)).shape)
