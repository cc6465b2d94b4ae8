"""Methods that subclasses override with other sizes, calling the base's with what it reads."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear
from typednn.random import Rng


class Base:
    def __init__(self, rng: Rng) -> None:
        self.fc = Linear(self.width(), 4, rng=rng)

    def width(self) -> int:
        return 6

    def prepare(self, x: Array2) -> Array2:
        return x

    def forward(self, x: Float[Array2, "batch _"]) -> Float[Array2, "batch _"]:
        return self.fc.forward(self.prepare(x))


class Doubled(Base):
    def width(self) -> int:
        return 12

    def prepare(self, x: Array2) -> Array2:
        return np.concatenate([x, x], axis=1)

    def forward(self, x: Float[Array2, "batch 6"]) -> Float[Array2, "batch 8"]:
        h = super().forward(x)
        return np.concatenate([h, h], axis=1)


def use(model: Base | Linear, x: Float[Array2, "batch 6"]) -> Float[Array2, "batch _"]:
    y = model.forward(x)
    if isinstance(model, Doubled):
        y = y[:, :4]
    return y


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    for model in (Base(rng), Doubled(rng), Linear(6, 5, rng=rng)):
        print(use(model, np.ones((2, 6), np.float32)).shape)
