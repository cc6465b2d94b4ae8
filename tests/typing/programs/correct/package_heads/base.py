"""What every head has."""

from abc import ABC, abstractmethod

from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear
from typednn.random import Rng


class Head(ABC):
    def __init__(self, features: int, classes: int, rng: Rng) -> None:
        self.features, self.classes = features, classes
        self.fc = Linear(features, classes, rng=rng)

    @abstractmethod
    def forward(self, x: Float[Array2, "batch {self.features}"]) -> Float[Array2, "batch {self.classes}"]: ...
