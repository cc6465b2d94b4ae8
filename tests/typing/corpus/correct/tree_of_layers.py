"""A layer that builds two of its own class, as deep as it is told."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from typednn import Array2, Gradient, Layer, S


@dataclass(frozen=True)
class TreeGrad(Gradient):
    input: Float[Array2, "batch features"]


class Tree(Layer[Array2, Array2, TreeGrad, S]):
    def __init__(self, depth: int, features: int) -> None:
        self.features = features
        self.left: Tree | None = Tree(depth - 1, features) if depth > 0 else None
        self.right: Tree | None = Tree(depth - 1, features) if depth > 0 else None

    def forward(self, x: Float[Array2, "batch {self.features}"]) -> Float[Array2, "batch {self.features}"]:
        if self.left is not None and self.right is not None:
            return self.left.forward(x) + self.right.forward(x)
        return x

    def backward(self, next_grad: Float[Array2, "batch {self.features}"]) -> TreeGrad:
        if self.left is not None and self.right is not None:
            return TreeGrad(self.left.backward(next_grad).input + self.right.backward(next_grad).input)
        return TreeGrad(next_grad)


if __name__ == "__main__":
    print(Tree(2, 4).forward(np.ones((2, 4), np.float32)).shape)
