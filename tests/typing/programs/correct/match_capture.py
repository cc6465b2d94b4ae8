"""Specifications of layers as tuples, read by match."""

from typing import Any

import numpy as np

from typednn import Input, Sequential
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, ReLU

Spec = tuple[str, int, int] | tuple[str]


def layer(spec: Spec) -> Any:
    match spec:
        case ("conv", int(inputs), int(outputs)):
            return Conv2d(inputs, outputs, 3, padding=1) >> ReLU()
        case ("linear", int(inputs), int(outputs)):
            return Linear(inputs, outputs)
        case ("pool",):
            return MaxPool2d(2)
        case _:
            return Flatten()


SPECS: list[Spec] = [("conv", 1, 8), ("pool",), ("conv", 8, 16), ("pool",), ("flatten",), ("linear", 7 * 7 * 16, 10)]

layers = []
for spec in SPECS:
    layers.append(layer(spec))
model = Sequential(layers, input=Input(28, 28, 1))

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    print(model.init(rng).forward(np.zeros((1, 28, 28, 1), np.float32)).shape)
