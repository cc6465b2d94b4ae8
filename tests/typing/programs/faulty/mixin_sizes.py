"""A chain of constructors hands on a width that the layer below did not get."""

from abc import ABC, abstractmethod

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import BatchNorm1d, Linear


class Base(ABC):
    def __init__(self, features: int, width: int) -> None:
        self.features, self.width = features, width
        self.first = Linear(features, width)

    @abstractmethod
    def forward(self, x: Float[Array2, "batch {self.features}"]) -> Float[Array2, "batch {self.width}"]: ...


class Normed(Base):
    def __init__(self, features: int, width: int) -> None:
        super().__init__(features, width)
        self.norm = BatchNorm1d(features)  # shape


class Named:
    name = "unnamed"


class Encoder(Named, Normed):
    name = "encoder"

    def __init__(self) -> None:
        super().__init__(12, 30)

    def forward(self, x: Float[Array2, "batch {self.features}"]) -> Float[Array2, "batch {self.width}"]:
        return self.norm.forward(self.first.forward(x))  # meets


if __name__ == "__main__":
    encoder, rng = Encoder(), np.random.default_rng(0)
    encoder.first.init(rng)
    encoder.norm.init(rng)
    print(encoder.forward(rng.random((4, 12)).astype(np.float32)).shape, encoder.name)
