"""The first, the last and the sizes between, by a star."""

import numpy as np

from typednn import Sequential
from typednn.layers import Linear, PReLU

sizes = (16, 40, 30, 20, 3)
first, *hidden, classes = sizes

layers = []
before, queue = first, list(hidden)
while queue:
    layers.append(Linear(before, width := queue.pop(0)) >> PReLU())
    before = width

model = Sequential([*layers, Linear(hidden[-1], classes)])

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model.init(rng)
    print(model.forward(rng.random((2, 16)).astype(np.float32)).shape)
