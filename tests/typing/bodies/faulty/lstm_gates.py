"""The gates of an LSTM by slices: one slice is twice as wide."""

import numpy as np
from jaxtyping import Float

from typednn import Array2


class Cell:
    def __init__(self, features: int, hidden: int) -> None:
        self.features, self.hidden = features, hidden

    def step(
        self, z: Float[Array2, "batch 4*{self.hidden}"], c: Float[Array2, "batch {self.hidden}"]
    ) -> Float[Array2, "batch {self.hidden}"]:
        n = self.hidden
        keep = 1.0 / (1.0 + np.exp(-z[:, :n]))
        write = 1.0 / (1.0 + np.exp(-z[:, n : 3 * n]))
        new = np.tanh(z[:, 2 * n : 3 * n])
        c = keep * c + write * new  # shape: hidden
        y: Array2 = np.tanh(c) / (1.0 + np.exp(-z[:, 3 * n :]))
        return y


if __name__ == "__main__":
    print(Cell(3, 5).step(np.ones((7, 20)), np.ones((7, 5))).shape)
