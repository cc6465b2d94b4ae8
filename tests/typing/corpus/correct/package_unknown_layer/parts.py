"""A layer whose annotation is computed, and a stack with it."""

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float

from typednn import Array2, Gradient, Layer, S
from typednn.layers import Linear

READS, GIVES = (f"batch {{self.features}}{times}" for times in ("", "*2"))


@final
@dataclass(frozen=True)
class TwiceGrad(Gradient):
    input: Float[Array2, READS]


@final
class Twice(Layer[Array2, Array2, TwiceGrad, S]):
    def __init__(self, features: int) -> None:
        self.features = features

    def forward(self, x: Float[Array2, READS]) -> Float[Array2, GIVES]:
        return np.concatenate([x, x], axis=1)

    def backward(self, next_grad: Float[Array2, GIVES]) -> TwiceGrad:
        return TwiceGrad(next_grad[:, : self.features] + next_grad[:, self.features :])


body = Linear(4, 4) >> Twice(4)
