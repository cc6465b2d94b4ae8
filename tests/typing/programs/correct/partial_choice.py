"""Activations and layers in a table, some of them partials."""

from collections.abc import Callable
from functools import partial

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear
from typednn.random import Rng

heads: dict[str, Callable[..., Linear]] = {
    "digits": partial(Linear, 32, 10),
    "parity": partial(Linear, 32, 2),
}


class TwoHeads:
    def __init__(self, rng: Rng) -> None:
        self.body = Linear(64, 32, rng=rng)
        self.digits = heads["digits"](rng=rng)
        self.parity = heads["parity"](rng=rng)

    def forward(self, x: Float[Array2, "batch 64"]) -> tuple[Float[Array2, "batch 10"], Float[Array2, "batch 2"]]:
        h = self.body.forward(x)
        return self.digits.forward(h), self.parity.forward(h)


if __name__ == "__main__":
    digits, parity = TwoHeads(np.random.default_rng(0)).forward(np.zeros((3, 64), np.float32))
    print(digits.shape, parity.shape)
