"""Arrays that a model keeps in its attributes and exchanges for others of another size."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear
from typednn.random import Rng


class Decoder:
    def __init__(self, rng: Rng) -> None:
        self.wide, self.narrow = Linear(4, 8, rng=rng), Linear(8, 4, rng=rng)
        self.state: Array2 = np.zeros((2, 4), np.float32)
        self.history: list[Array2] = []

    def widen(self) -> None:
        self.history.append(self.state)
        self.state = self.wide.forward(self.state)

    def forward(self, x: Float[Array2, "batch 4"]) -> Float[Array2, "batch 4"]:
        self.state = x
        self.widen()
        self.history.append(self.state)
        self.state = self.narrow.forward(self.state)
        return self.history[0] + self.state


if __name__ == "__main__":
    print(Decoder(np.random.default_rng(0)).forward(np.ones((2, 4), np.float32)).shape)
