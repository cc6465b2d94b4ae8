"""Flatten: an image becomes one row of numbers, last axis fastest.

y = x.reshape(batch, height·width·channels)       dx = dy.reshape(x's shape)

Keeps x's shape. No arithmetic; a view where the memory allows it.
Source: "Deep Learning Implementation With Rust", eqs 36-37.
"""

from dataclasses import dataclass
from typing import final

from jaxtyping import Float

from typednn.arrays import Array2, Array4
from typednn.kernels.reshape import reshape
from typednn.layer import Layer, S
from typednn.module.fields import Kept
from typednn.module.gradients import Gradient


@final
@dataclass(frozen=True, slots=True)
class FlattenGrad(Gradient):
    """The loss's derivative by the input."""

    input: Float[Array4, "batch height width channels"]


@final
class Flatten(Layer[Array4, Array2, FlattenGrad, S]):
    """Between the last image layer and the first `Linear`."""

    _shape: Kept[tuple[int, int, int, int]]

    def forward(self, x: Float[Array4, "batch height width channels"]) -> Float[Array2, "batch height*width*channels"]:
        self._shape = x.shape
        y: Array2 = reshape(x, (x.shape[0], x.shape[1] * x.shape[2] * x.shape[3]))
        return y

    def backward(self, next_grad: Float[Array2, "batch features"]) -> FlattenGrad:
        return FlattenGrad(reshape(next_grad, self._shape))
