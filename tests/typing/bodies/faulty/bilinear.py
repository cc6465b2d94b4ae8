"""A bilinear form of two inputs: the letters of its weight are exchanged."""

import numpy as np
from jaxtyping import Float

from typednn import Array2, Array3


class Bilinear:
    def __init__(self, left: int, right: int, out: int) -> None:
        self.left, self.right, self.out = left, right, out
        self.weight: Float[Array3, "{self.out} {self.left} {self.right}"] = np.ones((out, left, right))

    def forward(self, x: Float[Array2, "batch {self.left}"], y: Float[Array2, "batch {self.right}"]) -> Float[Array2, "batch {self.out}"]:
        z: Array2 = np.einsum("bi,oji,bj->bo", x, self.weight, y)  # shape: self.left self.right
        return z


if __name__ == "__main__":
    print(Bilinear(3, 5, 11).forward(np.ones((7, 3)), np.ones((7, 5))).shape)
