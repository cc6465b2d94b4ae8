"""A Sequential from zip(sizes, sizes[1:]), and a head that reads the first hidden size."""

import numpy as np

from typednn import Sequential
from typednn.layers import Linear, ReLU, Tanh


def mlp(sizes: list[int], classes: int) -> Sequential:
    layers = [Linear(inputs, outputs) >> Tanh() for inputs, outputs in zip(sizes, sizes[1:])]
    return Sequential([*layers, Linear(sizes[1], classes), ReLU()])  # shape


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model = mlp([12, 48, 24], 3).init(rng)  # meets
    print(model.forward(rng.standard_normal((5, 12)).astype(np.float32)).shape)
