"""A net from a list of NamedTuples, one for each convolution."""

from typing import NamedTuple

import numpy as np

from typednn import Input, Sequential
from typednn.layers import Conv2d, GlobalAvgPool2d, Linear, ReLU


class Spec(NamedTuple):
    inputs: int
    outputs: int
    stride: int = 1


SPECS = [
    Spec(3, 8),
    Spec(8, 16, stride=2),
    Spec(16, 32, 2),
]

convolutions = [Conv2d(spec.inputs, spec.outputs, 3, spec.stride, padding=1) >> ReLU() for spec in SPECS]
model = Sequential([*convolutions, GlobalAvgPool2d(), Linear(SPECS[-1].outputs, 10)], input=Input(32, 32, 3))

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model.init(rng)
    print(model.forward(rng.random((1, 32, 32, 3)).astype(np.float32)).shape)
