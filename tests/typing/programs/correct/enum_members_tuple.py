"""Networks of a size that an Enum names, chosen by match."""

from enum import Enum, auto
from typing import Any

import numpy as np

from typednn import Array2, Input, Layer
from typednn.layers import Linear, ReLU


class Depth(Enum):
    SHALLOW = auto()
    DEEP = auto()


def body(depth: Depth) -> Layer[Array2, Array2, Any]:
    match depth:
        case Depth.SHALLOW:
            return Linear(7, 14)
        case Depth.DEEP:
            return Linear(7, 28) >> ReLU() >> Linear(28, 14)


models = [Input(7) >> body(depth) >> ReLU() >> Linear(14, 1) for depth in Depth]

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    for model in models:
        model.init(rng)
        print(model.forward(rng.random((3, 7)).astype(np.float32)).shape)
