"""Sizes handed over with * and **."""

from itertools import pairwise
from typing import Any

import numpy as np

from typednn import Input
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d

dims = (8, 16)
wide = (16, 4)
conv: dict[str, Any] = {"in_channels": 1, "out_channels": 4, "kernel_size": 3}
side = (10, 10, 1)


def chain(*dims: int) -> list[Linear]:
    return [Linear(*pair) for pair in pairwise(dims)]


model = Input(8) >> Linear(*dims) >> Linear(*wide) >> Linear(in_features=4, out_features=2)
images = Input(*side) >> Conv2d(**conv) >> MaxPool2d(2) >> Flatten() >> Linear(4 * 4 * 4, 3)

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    print(model.init(rng).forward(np.ones((2, 8), np.float32)).shape)
    print(images.init(rng).forward(np.ones((2, 10, 10, 1), np.float32)).shape, chain(3, 4, 5))
