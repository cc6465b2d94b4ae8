"""A nested function makes each next block from the width that the last one left."""

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
    return first >> second >> Linear(width, classes)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model = pyramid(6, 2).init(rng)
    print(model.forward(rng.random((3, 6)).astype(np.float32)).shape)
