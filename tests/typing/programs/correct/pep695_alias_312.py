"""A type alias in the new notation, as what factories give."""

from typing import Any

import numpy as np

from typednn import Array4, Chain, Input
from typednn.layers import BatchNorm2d, Conv2d, GlobalAvgPool2d, Linear, ReLU

type Images = Chain[Array4, Array4, str, *tuple[Any, ...]]


def down(inputs: int, outputs: int) -> Images:
    return Conv2d(inputs, outputs, 3, 2, padding=1) >> BatchNorm2d(outputs) >> ReLU()


def chosen[T](first: T, second: T, *, wide: bool) -> T:
    return second if wide else first


WIDE = False
stage = chosen(down(8, 16), down(8, 32), wide=WIDE)
model = Input(16, 16, 3) >> down(3, 8) >> stage >> GlobalAvgPool2d() >> Linear(16, 4)

if __name__ == "__main__":
    model.init(np.random.default_rng(0))
    print(model.forward(np.zeros((1, 16, 16, 3), np.float32)).shape)
