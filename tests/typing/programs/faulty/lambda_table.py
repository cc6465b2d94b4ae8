"""A lambda in a table makes a head for twice the features."""

from collections.abc import Callable
from typing import Any

import numpy as np

from typednn import Array2, Layer
from typednn.layers import GELU, Linear

HEADS: dict[str, Callable[[int], Layer[Array2, Array2, Any]]] = {
    "linear": lambda features: Linear(features, 3),
    "deep": lambda features: Linear(features, 2 * features) >> GELU() >> Linear(2 * features, 3),
    "deeper": lambda features: Linear(features, features) >> GELU() >> Linear(2 * features, 3),  # shape
}


def build(name: str) -> Layer[Array2, Array2, Any]:
    return Linear(20, 16) >> GELU() >> HEADS[name](16)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    for name in HEADS:
        model = build(name).init(rng)
        print(name, model.forward(rng.random((2, 20)).astype(np.float32)).shape)
