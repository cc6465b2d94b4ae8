"""A stem by a Literal; the head counts on the large stem's image."""

from typing import Any, Literal

import numpy as np

from typednn import Array4, Chain, Input
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, ReLU

Variant = Literal["small", "large"]


def stem(variant: Variant) -> Chain[Array4, Array4, str, *tuple[Any, ...]]:
    if variant == "small":
        return Conv2d(3, 16, 3, padding=1) >> ReLU()
    return Conv2d(3, 16, 7, 2, padding=3) >> ReLU() >> MaxPool2d(3, 2, 1)


small = Input(32, 32, 3) >> stem("small") >> MaxPool2d(4) >> Flatten() >> Linear(8 * 8 * 16, 10)
large = Input(64, 64, 3) >> stem("large") >> MaxPool2d(4) >> Flatten() >> Linear(8 * 8 * 16, 10)  # shape

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    print(small.init(rng).forward(np.zeros((1, 32, 32, 3), np.float32)).shape)
    print(large.init(rng).forward(np.zeros((1, 64, 64, 3), np.float32)).shape)
