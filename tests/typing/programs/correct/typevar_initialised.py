"""A helper that initialises any layer and returns it with its type."""

from typing import TypeVar

import numpy as np
from jaxtyping import Float

from typednn import Array4, Module
from typednn.layers import Conv2d, ConvTranspose2d, MaxPool2d, ReLU

M = TypeVar("M", bound=Module)
rng = np.random.default_rng(0)


def initialised(module: M) -> M:
    module.init(rng)
    return module


class Denoiser:
    def __init__(self) -> None:
        self.down = initialised(Conv2d(1, 8, 3, padding=1) >> ReLU() >> MaxPool2d(2))
        self.middle = initialised(Conv2d(8, 16, 3, padding=1) >> ReLU())
        self.up = initialised(ConvTranspose2d(16, 8, 2, 2))
        self.out = initialised(Conv2d(8, 1, 1))

    def forward(self, x: Float[Array4, "batch 28 28 1"]) -> Float[Array4, "batch 28 28 1"]:
        h = self.middle.forward(self.down.forward(x))
        return self.out.forward(self.up.forward(h))


if __name__ == "__main__":
    print(Denoiser().forward(np.zeros((2, 28, 28, 1), np.float32)).shape)
