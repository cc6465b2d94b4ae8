"""Layers from functools.partial, a lambda and a function."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from typednn import Array4, Input, Layer
from typednn.layers import Conv2d, Linear, Pad2d, ReLU

from_three = partial(Linear, 3)
by_channels: dict[str, Callable[[int], Layer[Array4, Array4, Any]]] = {
    "same": lambda channels: Pad2d(1) >> Conv2d(channels, channels, 3),
    "narrow": lambda channels: Conv2d(channels, channels // 2, 1),
}


def to_three(features: int) -> Linear:
    return Linear(features, 3)


model = Input(3) >> from_three(7) >> ReLU() >> to_three(7) >> from_three(out_features=5)
images = Input(8, 8, 2) >> by_channels["same"](2) >> by_channels["narrow"](2)

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    print(model.init(rng).forward(np.ones((2, 3), np.float32)).shape)
    print(images.init(rng).forward(np.ones((2, 8, 8, 2), np.float32)).shape)
