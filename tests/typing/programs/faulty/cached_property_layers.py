"""A cached property makes the layer that joins two towers for the sizes of one."""

from functools import cached_property

import numpy as np
from jaxtyping import Float

from typednn import Array1, Array2
from typednn.layers import Linear


class Ranker:
    users: int = 40
    items: int = 25
    code: int = 8

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    @cached_property
    def user_tower(self) -> Linear:
        return Linear(self.users, self.code, rng=self.rng)

    @cached_property
    def item_tower(self) -> Linear:
        return Linear(self.users, self.code, rng=self.rng)  # shape

    def score(self, users: Float[Array2, "batch 40"], items: Float[Array2, "batch 25"]) -> Float[Array1, " batch"]:
        products = self.user_tower.forward(users) * self.item_tower.forward(items)  # meets
        total: Array1 = products.sum(axis=1)
        return total


if __name__ == "__main__":
    ranker = Ranker(0)
    print(ranker.score(np.ones((2, 40), np.float32), np.ones((2, 25), np.float32)))
