"""A recurrent net: one cell over the steps of a sequence, its states in a list."""
# pyright: basic

import numpy as np
from jaxtyping import Float

from typednn import Array2, Array3
from typednn.layers import Linear
from typednn.random import Rng


class Recurrent:
    def __init__(self, features: int, state: int, rng: Rng) -> None:
        self.features, self.state = features, state
        self.read = Linear(features, state, rng=rng)
        self.keep = Linear(state, state, bias=False, rng=rng)
        self.write = Linear(state, 3, rng=rng)

    def step(
        self, x: Float[Array2, "batch {self.features}"], h: Float[Array2, "batch {self.state}"]
    ) -> Float[Array2, "batch {self.state}"]:
        return np.tanh(self.read(x) + self.keep(h))

    def forward(self, x: Float[Array3, "batch time {self.features}"]) -> Float[Array3, "batch time 3"]:
        h = np.zeros((x.shape[0], self.state), np.float32)
        outputs = []
        for t in range(x.shape[1]):
            h = self.step(x[:, t], h)
            outputs.append(self.write(h))
        return np.stack(outputs, axis=1)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    print(Recurrent(5, 7, rng).forward(np.ones((2, 4, 5), np.float32)).shape)
