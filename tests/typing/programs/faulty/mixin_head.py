"""The mixin for the head makes it for other features than the mixin for the body gives."""

from typing import cast

import numpy as np
from jaxtyping import Float

from typednn import AnyArray, Array2
from typednn.layers import Linear, Softplus
from typednn.random import Rng


class WithBody:
    def make_body(self, rng: Rng) -> None:
        self.body = Linear(14, 28, rng=rng)
        self.act = Softplus()


class WithHead:
    def make_head(self, rng: Rng) -> None:
        self.head = Linear(14, 4, rng=rng)  # shape


class Model(WithBody, WithHead):
    def __init__(self, rng: Rng) -> None:
        self.make_body(rng)
        self.make_head(rng)

    def forward(self, x: Float[Array2, "batch 14"]) -> Float[Array2, "batch 4"]:
        h: AnyArray = self.act.forward(self.body.forward(x))
        return self.head.forward(cast(Array2, h))  # meets


if __name__ == "__main__":
    print(Model(np.random.default_rng(0)).forward(np.zeros((2, 14), np.float32)).shape)
