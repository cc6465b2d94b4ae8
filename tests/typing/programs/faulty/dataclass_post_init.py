"""A dataclass that makes its layers in __post_init__, the second with the sizes turned round."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear, Tanh


@dataclass
class Critic:
    features: int
    hidden: int = 20
    seed: int = 0
    first: Linear = field(init=False)
    second: Linear = field(init=False)
    tanh: Tanh = field(default_factory=Tanh)

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        self.first = Linear(self.features, self.hidden, rng=rng)
        self.second = Linear(self.features, 1, rng=rng)  # shape

    def forward(self, x: Float[Array2, "batch {self.features}"]) -> Float[Array2, "batch 1"]:
        return self.second.forward(self.tanh.forward(self.first.forward(x)))  # meets


if __name__ == "__main__":
    print(Critic(features=6).forward(np.zeros((3, 6), np.float32)).shape)
