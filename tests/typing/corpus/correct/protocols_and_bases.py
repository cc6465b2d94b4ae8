"""Models behind a Protocol and an abstract base, whose subclasses have sizes of their own."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from jaxtyping import Float

from typednn import Array2, Forward, Layer
from typednn.layers import Linear, ReLU
from typednn.random import Rng


class Model(ABC):
    features: int

    @abstractmethod
    def forward(self, x: Float[Array2, "batch {self.features}"]) -> Float[Array2, "batch 2"]: ...

    def probabilities(self, x: Float[Array2, "batch {self.features}"]) -> Float[Array2, "batch 2"]:
        scores = np.exp(self.forward(x))
        y: Array2 = scores / scores.sum(axis=1, keepdims=True)
        return y


class Small(Model):
    features = 4

    def __init__(self, rng: Rng) -> None:
        self.fc = Linear(4, 2, rng=rng)

    def forward(self, x: Float[Array2, "batch 4"]) -> Float[Array2, "batch 2"]:
        return self.fc(x)


class Large(Model):
    features = 9

    def __init__(self, rng: Rng) -> None:
        self.fc = (Linear(9, 5) >> ReLU() >> Linear(5, 2)).init(rng)

    def forward(self, x: Float[Array2, "batch 9"]) -> Float[Array2, "batch 2"]:
        return self.fc(x)


def apply(model: Forward[Array2, Array2], x: Float[Array2, "batch features"]) -> Float[Array2, "batch out"]:
    return model.forward(x)


def both(first: Layer[Array2, Array2, Any], second: Layer[Array2, Array2, Any], x: Array2) -> Array2:
    return (first >> second).forward(x)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    models: list[Model] = [Small(rng), Large(rng)]
    for model in models:
        x = np.ones((3, model.features), np.float32)
        print(model.probabilities(x).shape, apply(model, x).shape)
    print(both(Linear(9, 4, rng=rng), Linear(4, 1, rng=rng), np.ones((3, 9), np.float32)).shape)
