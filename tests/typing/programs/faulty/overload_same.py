"""An overloaded factory halves the image, and the head counts on the whole one."""

from typing import Any, Literal, overload

import numpy as np

from typednn import Array4, Chain, Input
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, ReLU

Images = Chain[Array4, Array4, str, *tuple[Any, ...]]


@overload
def conv(inputs: int, outputs: int) -> Conv2d: ...
@overload
def conv(inputs: int, outputs: int, pool: Literal[True]) -> Images: ...
def conv(inputs: int, outputs: int, pool: bool = False) -> Conv2d | Images:
    layer = Conv2d(inputs, outputs, 3, padding=1)
    return layer >> ReLU() >> MaxPool2d(2) if pool else layer


body = Input(12, 12, 1) >> conv(1, 4) >> ReLU() >> conv(4, 8, True)
model = body >> Flatten() >> Linear(12 * 12 * 8, 2)  # shape

if __name__ == "__main__":
    model.init(np.random.default_rng(0))
    print(model.forward(np.ones((3, 12, 12, 1), np.float32)).shape)
