"""Class methods, properties and dataclass fields that hold layers and sizes."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear, ReLU


@dataclass
class Net:
    encode: Linear
    decode: Linear
    relu: ReLU

    @classmethod
    def of(cls, features: int, code: int = 3) -> Self:
        return cls(Linear(features, code), Linear(code, features), ReLU())

    @classmethod
    def square(cls, features: int) -> Self:
        return cls.of(features, features)

    @property
    def features(self) -> int:
        return self.encode.in_features

    def forward(self, x: Float[Array2, "batch {self.features}"]) -> Float[Array2, "batch {self.features}"]:
        return self.decode.forward(self.relu.forward(self.encode.forward(x)))


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    for net in (Net.of(5), Net.square(4), Net(Linear(6, 1), Linear(1, 6), ReLU())):
        net.encode.init(rng)
        net.decode.init(rng)
        print(net.forward(np.ones((2, net.features), np.float32)).shape)
