"""A function over anything that encodes, by a Protocol with a size."""

from typing import Protocol, cast

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear, ReLU


class Encodes(Protocol):
    @property
    def code(self) -> int: ...
    def encode(self, x: Float[Array2, "batch features"]) -> Array2: ...


class Wide:
    code = 16

    def __init__(self) -> None:
        self.chain = (Linear(10, self.code) >> ReLU()).init(np.random.default_rng(0))

    def encode(self, x: Float[Array2, "batch features"]) -> Float[Array2, "batch {self.code}"]:
        return self.chain.forward(x)


head = Linear(16, 2, rng=np.random.default_rng(1))


def classify(encoder: Encodes, x: Float[Array2, "batch 10"]) -> Float[Array2, "batch 2"]:
    return head.forward(encoder.encode(x))


if __name__ == "__main__":
    print(classify(cast(Encodes, Wide()), np.ones((3, 10), np.float32)).shape)
