"""Two heads on one body, given back as a tuple and joined by broadcasting."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear, ReLU
from typednn.random import Rng


class Dueling:
    def __init__(self, states: int, actions: int, rng: Rng) -> None:
        self.states, self.actions = states, actions
        self.body = (Linear(states, 32) >> ReLU()).init(rng)
        self.value = Linear(32, 1, rng=rng)
        self.advantage = Linear(32, actions, rng=rng)

    def heads(self, x: Float[Array2, "batch {self.states}"]) -> tuple[Float[Array2, "batch 1"], Float[Array2, "batch {self.actions}"]]:
        h = self.body.forward(x)
        return self.value.forward(h), self.advantage.forward(h)

    def forward(self, x: Float[Array2, "batch {self.states}"]) -> Float[Array2, "batch {self.actions}"]:
        value, advantage = self.heads(x)
        advantage = advantage - advantage.mean(axis=1, keepdims=True)
        q: Array2 = value + advantage
        return q


if __name__ == "__main__":
    print(Dueling(4, 3, np.random.default_rng(0)).forward(np.ones((2, 4), np.float32)).shape)
