"""Residual blocks put together by reduce."""

import operator
from functools import reduce
from typing import Any

import numpy as np

from typednn import Array2, Input, Layer
from typednn.layers import LayerNorm, Linear, ReLU, Residual

WIDTH = 24


def block(inner: int) -> Layer[Array2, Array2, Any]:
    return Residual(LayerNorm(WIDTH) >> Linear(WIDTH, inner) >> ReLU() >> Linear(inner, WIDTH))


blocks = [block(inner) for inner in (48, 96, 48)]
body = reduce(operator.rshift, blocks, Linear(10, WIDTH))
model = Input(10) >> body >> Linear(WIDTH, 1)

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model.init(rng)
    print(model.forward(rng.standard_normal((4, 10)).astype(np.float32)).shape)
