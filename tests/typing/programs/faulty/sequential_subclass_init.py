"""A subclass of Sequential, stacked before a layer that does not read its classes."""

from typing import Any

import numpy as np

from typednn import Input, Sequential
from typednn.layers import Linear, ReLU, Softmax


class MLP(Sequential[Any]):
    def __init__(self, features: int, hidden: int, outputs: int) -> None:
        super().__init__([Linear(features, hidden), ReLU(), Linear(hidden, outputs)])


model = Input(9) >> MLP(9, 30, 12) >> ReLU() >> MLP(30, 6, 3) >> Softmax()  # shape

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model.init(rng)
    print(model.forward(rng.random((2, 9)).astype(np.float32)).sum(axis=1))
