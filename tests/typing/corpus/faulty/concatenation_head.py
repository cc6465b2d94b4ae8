"""Six features and four are joined to ten, and the head reads six."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from typednn import Array2, Gradient, Kept, MultiInput
from typednn.layers import Linear
from typednn.random import Rng


@dataclass(frozen=True)
class JoinGrad(Gradient, inputs=("left", "right")):
    left: Float[Array2, "batch left"]
    right: Float[Array2, "batch right"]


class Join(MultiInput[Array2, JoinGrad]):
    _left: Kept[int]

    def forward(self, left: Float[Array2, "batch left"], right: Float[Array2, "batch right"]) -> Float[Array2, "batch left+right"]:
        self._left = left.shape[1]
        return np.concatenate([left, right], axis=1)

    def backward(self, next_grad: Float[Array2, "batch both"]) -> JoinGrad:
        return JoinGrad(left=next_grad[:, : self._left], right=next_grad[:, self._left :])


class Wide:
    def __init__(self, rng: Rng) -> None:
        self.image, self.text = Linear(20, 6, rng=rng), Linear(30, 4, rng=rng)
        self.join, self.head = Join(), Linear(6, 2, rng=rng)

    def forward(self, image: Float[Array2, "batch 20"], text: Float[Array2, "batch 30"]) -> Float[Array2, "batch 2"]:
        both = self.join.forward(self.image.forward(image), self.text.forward(text))
        return self.head.forward(both)  # shape: expects 6 features, gets 10


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    Wide(rng).forward(np.ones((2, 20), np.float32), np.ones((2, 30), np.float32))
