"""Stacks put together by reduce, by star and by growing a Sequential; parts taken out again."""

from functools import reduce
from typing import Any

import numpy as np

from typednn import Array2, Input, Layer, Sequential
from typednn.layers import Linear, ReLU, Tanh

layers = [Linear(8, 16), Linear(16, 4), Linear(4, 2)]
start: Any = layers[0]
model = reduce(lambda done, layer: done >> layer, layers[1:], start)
starred = Sequential([*layers[:2], ReLU(), layers[2].shared()])
first, *rest = layers
act = {"relu": ReLU, "tanh": Tanh}["tanh"]()
chosen = Input(8) >> Linear(8, 3) >> act >> Linear(3, 1)
head: Layer[Array2, Array2, Any] = Linear(3, 7) >> Linear(7, 1)
whole: list[Layer[Array2, Array2, Any]] = [chosen, head]

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    x = np.ones((2, 8), np.float32)
    print(model.init(rng).forward(x).shape, chosen.init(rng).forward(x).shape, head.init(rng).forward(x[:, :3]).shape)
    print(starred.init(rng).forward(x).shape, len(rest), len(whole), chosen[0])
