"""A layer of two inputs gives the derivative by the one for that by the other."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from typednn import Array1, Array2, Gradient, Kept, MultiInput, Parameter


@dataclass(frozen=True, slots=True)
class BilinearGrad(Gradient, inputs=("left", "right")):
    left: Float[Array2, "batch lefts"]
    right: Float[Array2, "batch rights"]
    weight: Float[Array2, "lefts rights"]


class Bilinear(MultiInput[Array1, BilinearGrad]):
    weight: Parameter[Float[Array2, "{self.lefts} {self.rights}"]]
    _left: Kept[Float[Array2, "batch {self.lefts}"]]
    _right: Kept[Float[Array2, "batch {self.rights}"]]

    def __init__(self, lefts: int, rights: int) -> None:
        self.lefts, self.rights = lefts, rights

    def forward(self, left: Float[Array2, "batch {self.lefts}"], right: Float[Array2, "batch {self.rights}"]) -> Float[Array1, " batch"]:
        self._left, self._right = left, right
        scores: Array1 = (left @ self.weight * right).sum(axis=1)
        return scores

    def backward(self, next_grad: Float[Array1, " batch"]) -> BilinearGrad:
        column = next_grad[:, None]
        left = column * (self._right @ self.weight.T)
        right = column * (self._left @ self.weight)
        return BilinearGrad(right, left, (column * self._left).T @ self._right)  # shape


if __name__ == "__main__":
    layer = Bilinear(4, 7).init(np.random.default_rng(0))
    scores = layer.forward(np.ones((3, 4), np.float32), np.ones((3, 7), np.float32))
    print(layer.backward(scores).left.shape)
