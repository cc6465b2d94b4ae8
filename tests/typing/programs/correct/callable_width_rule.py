"""A function that asks another how wide the hidden layer is."""

from collections.abc import Callable

import numpy as np

from typednn import Sequential
from typednn.layers import Linear, Tanh


def mlp(features: int, classes: int, rule: Callable[[int], int] | None = None) -> Sequential:
    rule = rule or (lambda n: 2 * n)
    hidden = rule(features)
    return Sequential([Linear(features, hidden), Tanh(), Linear(hidden, classes)])


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    x = rng.random((3, 12)).astype(np.float32)
    print(mlp(12, 2).init(rng).forward(x).shape)
    print(mlp(12, 2, lambda n: n + 5).init(rng).forward(x).shape)
