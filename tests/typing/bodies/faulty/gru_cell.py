"""One step of a GRU: input and state are joined along the batch."""

import numpy as np
from jaxtyping import Float

from typednn import Array2


class Cell:
    def __init__(self, features: int, hidden: int) -> None:
        self.features, self.hidden = features, hidden
        self.weight: Float[Array2, "{self.features}+{self.hidden} {self.hidden}"] = np.ones((features + hidden, hidden))

    def step(
        self, x: Float[Array2, "batch {self.features}"], h: Float[Array2, "batch {self.hidden}"]
    ) -> Float[Array2, "batch {self.hidden}"]:
        joined = np.concatenate([x, h], axis=0)  # shape: features hidden
        z = 1.0 / (1.0 + np.exp(-(joined @ self.weight)))
        new = np.tanh(joined @ self.weight)
        y: Array2 = (1.0 - z) * h + z * new
        return y


if __name__ == "__main__":
    print(Cell(3, 5).step(np.ones((7, 3)), np.ones((7, 5))).shape)
