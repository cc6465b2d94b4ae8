"""The NamedTuple's decoder width is another one than its code."""

from typing import Any, NamedTuple

import numpy as np

from typednn import Array2, Input, Layer
from typednn.layers import Linear, ReLU


class Sizes(NamedTuple):
    pixels: int
    hidden: int
    code: int = 8


def encoder(sizes: Sizes) -> Layer[Array2, Array2, Any]:
    return Linear(sizes.pixels, sizes.hidden) >> ReLU() >> Linear(sizes.hidden, sizes.code)


def decoder(sizes: Sizes) -> Layer[Array2, Array2, Any]:
    return Linear(sizes.code, sizes.hidden) >> ReLU() >> Linear(sizes.hidden, sizes.pixels)


SIZES = Sizes(pixels=144, hidden=36)
model = Input(144) >> encoder(SIZES) >> decoder(SIZES._replace(code=6))  # shape

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model.init(rng)
    print(model.forward(rng.random((2, 144)).astype(np.float32)).shape)
