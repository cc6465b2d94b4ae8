"""Two members of an Enum of widths: the body is large, the head for the small one."""

from enum import Enum
from typing import Any

import numpy as np

from typednn import Array2, Layer
from typednn.layers import ELU, BatchNorm1d, Linear


class Width(Enum):
    SMALL = 32
    LARGE = 128


def body(width: Width) -> Layer[Array2, Array2, Any]:
    return Linear(10, width.value) >> BatchNorm1d(width.value) >> ELU()


def head(width: Width) -> Linear:
    return Linear(width.value, 2)


def build(width: Width) -> Layer[Array2, Array2, Any]:
    return body(width) >> head(Width.SMALL)  # shape


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model = build(Width.LARGE).init(rng)  # meets
    print(model.forward(rng.random((3, 10)).astype(np.float32)).shape)
