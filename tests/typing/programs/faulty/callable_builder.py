"""The function that is handed in narrows the rows, and the head reads the wide ones."""

from collections.abc import Callable
from typing import Any

import numpy as np

from typednn import Array2, Layer, checking
from typednn.layers import Linear, ReLU

Block = Layer[Array2, Array2, Any]


def narrowing(width: int) -> Block:
    return Linear(width, width // 2) >> ReLU()


def build(features: int, width: int, middle: Callable[[int], Block], left: int) -> Block:
    return Linear(features, width) >> ReLU() >> middle(width) >> Linear(left, 3)


model = build(17, 40, narrowing, left=40)  # shape

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model.init(rng)
    with checking("full"):
        if (scores := model.forward(rng.random((2, 17)).astype(np.float32))).shape[1] == 3:
            print(scores)
