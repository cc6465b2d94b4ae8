"""Layers joined by reduce, from a first one that is given apart."""

import operator
from functools import reduce

import numpy as np

from typednn import Input
from typednn.layers import Linear, ReLU

layers = [Linear(48, 24), Linear(24, 12)]
body = reduce(operator.rshift, layers, Linear(10, 48))
model = Input(10) >> body >> ReLU() >> Linear(12, 1)

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model.init(rng)
    print(model.forward(rng.random((2, 10)).astype(np.float32)).shape)
