"""Layers in a list, in a dict and in a loop, with sizes that a loop computes."""

from itertools import pairwise

import numpy as np
from jaxtyping import Float

from typednn import Array2, Input, Sequential
from typednn.layers import Linear, ReLU

sizes = [784, 256, 64, 10]
layers = [Linear(a, b) for a, b in pairwise(sizes)]
by_name = {"up": Linear(10, 20), "down": Linear(20, 10)}
relu = ReLU()


def forward(x: Float[Array2, "batch 784"]) -> Float[Array2, "batch 10"]:
    for layer in layers:
        x = layer(x)
    for name in ("up", "down"):
        x = relu(by_name[name](x))
    return x


def grown(width: int, depth: int) -> Sequential:
    parts: list[Linear | ReLU] = []
    for _ in range(depth):
        parts += [Linear(width, 2 * width), ReLU()]
        width = 2 * width
    return Sequential(parts)


model = Sequential({"a": Linear(3, 5), "relu": ReLU(), "b": Linear(5, 1)}, input=Input(3))

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    for layer in [*layers, *by_name.values()]:
        layer.init(rng)
    print(forward(np.ones((2, 784), np.float32)).shape)
    print(grown(3, 3).init(rng).forward(np.ones((2, 3), np.float32)).shape)
    print(model.init(rng).forward(np.ones((2, 3), np.float32)).shape)
