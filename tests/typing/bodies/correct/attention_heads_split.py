"""Features split into heads."""

import numpy as np
from jaxtyping import Float

from typednn import Array3, Array4


class Heads:
    def __init__(self, features: int, heads: int) -> None:
        self.features, self.heads = features, heads
        self.size = features // heads

    def split(
        self, x: Float[Array3, "batch time {self.features}"]
    ) -> Float[Array4, "batch {self.heads} time {self.features}//{self.heads}"]:
        batch, time, _ = x.shape
        y = x.reshape(batch, time, self.heads, self.size)
        return y.transpose(0, 2, 1, 3)


if __name__ == "__main__":
    print(Heads(33, 3).split(np.ones((2, 7, 33), np.float32)).shape)
