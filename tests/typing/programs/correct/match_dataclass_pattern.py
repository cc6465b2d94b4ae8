"""Configurations of two classes, taken apart by match."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear
from typednn.random import Rng


@dataclass(frozen=True)
class Direct:
    features: int


@dataclass(frozen=True)
class Projected:
    features: int
    code: int


class Head:
    def __init__(self, config: Direct | Projected, rng: Rng) -> None:
        match config:
            case Direct(features):
                self.project = Linear(features, features, rng=rng)
                self.score = Linear(features, 1, rng=rng)
            case Projected(features, code):
                self.project = Linear(features, code, rng=rng)
                self.score = Linear(code, 1, rng=rng)

    def forward(self, x: Float[Array2, "batch features"]) -> Float[Array2, "batch 1"]:
        return self.score.forward(self.project.forward(x))


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    x = rng.random((2, 18)).astype(np.float32)
    for config in (Direct(18), Projected(18, 5)):
        print(Head(config, rng).forward(x).shape)
