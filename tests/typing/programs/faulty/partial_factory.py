"""The factory's fixed width is not the width that the first layer gives."""

from functools import partial
from typing import Any

import numpy as np

from typednn import Array2, Input, Layer
from typednn.layers import BatchNorm1d, Linear, ReLU


def block(width: int, inner: int, *, norm: bool) -> Layer[Array2, Array2, Any]:
    first = Linear(width, inner) >> ReLU()
    if norm:
        return first >> BatchNorm1d(inner) >> Linear(inner, width)
    return first >> Linear(inner, width)


plain = partial(block, 20, norm=False)  # shape
model = Input(8) >> Linear(8, 40) >> plain(80) >> plain(inner=20) >> Linear(40, 1)  # meets

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model.init(rng)
    print(model.forward(rng.standard_normal((4, 8)).astype(np.float32)).shape)
