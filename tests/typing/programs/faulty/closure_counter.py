"""A nested function widens each block, and the head reads the width before the last."""

from typing import Any

import numpy as np

from typednn import Array2, Layer
from typednn.layers import Linear, ReLU


def pyramid(features: int, classes: int) -> Layer[Array2, Array2, Any]:
    width = features

    def block() -> Layer[Array2, Array2, Any]:
        nonlocal width
        before, width = width, 2 * width
        return Linear(before, width) >> ReLU()

    first = block()
    second = block()
    return first >> second >> Linear(2 * features, classes)  # shape


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model = pyramid(6, 2).init(rng)  # meets
    print(model.forward(rng.random((3, 6)).astype(np.float32)).shape)
