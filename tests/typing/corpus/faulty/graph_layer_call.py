"""A call of a layer from a formula is checked as one that is written by hand."""

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float

from typednn import Array2, Gradient, GraphLayer, S
from typednn.graph.tensor import Tensor2


@final
@dataclass(frozen=True, slots=True)
class InputGrad(Gradient):
    """The loss's derivative by the input."""

    input: Float[Array2, "batch features"]


@final
class Halves(GraphLayer[Array2, Array2, InputGrad, S]):
    """The product of the first half of the features with the second."""

    def __init__(self, features: int) -> None:
        self.features = features

    def formula(self, x: Float[Tensor2, "batch 2*{self.features}"]) -> Float[Tensor2, "batch {self.features}"]:
        return x[:, : self.features] * x[:, self.features :]


x: Float[Array2, "5 6"] = np.ones((5, 6), np.float32)
y = Halves(4).forward(x)  # shape: expects 2*features to be 8, gets 6
