"""Chains and one more layer: the longer chain is another one."""

import numpy as np
from jaxtyping import Float

from typednn import Array2, Input, Sequential
from typednn.layers import Linear, ReLU

rng = np.random.default_rng(0)


def grown(x: Float[Array2, "batch 4"]) -> Float[Array2, "batch 2"]:
    model = Sequential([Linear(4, 8, rng=rng)], input=Input(4))
    longer = model.append(ReLU()).append(Linear(8, 2, rng=rng))
    y: Array2 = longer.forward(x)
    return y


def by_the_same_name(x: Float[Array2, "batch 4"]) -> Float[Array2, "batch 2"]:
    model = Sequential([Linear(4, 8, rng=rng)])
    model = model.append(Linear(8, 2, rng=rng))
    y: Array2 = model.forward(x)
    return y


def part(x: Float[Array2, "batch 4"]) -> Float[Array2, "batch 8"]:
    model = Input(4) >> Linear(4, 8, rng=rng) >> Linear(8, 2, rng=rng)
    y: Array2 = model[:1].forward(x)
    return y


class Grown:
    def __init__(self) -> None:
        model = Input(4) >> Linear(4, 8, rng=rng)
        self.model = model.append(Linear(8, 2, rng=rng))

    def run(self, x: Float[Array2, "batch 4"]) -> Float[Array2, "batch 2"]:
        return self.model.forward(x)


if __name__ == "__main__":
    x = np.ones((3, 4), np.float32)
    print(grown(x).shape, by_the_same_name(x).shape, part(x).shape, Grown().run(x).shape)
