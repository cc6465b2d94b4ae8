"""Upsample: an image with more pixels; each is copied, or lies between its neighbours.

mode "nearest": every pixel becomes a rectangle of copies; dx sums dy over them.
mode "bilinear": pixels between the centres of their neighbours, mixed by their distances; dx sums dy with the same
weights.

x (batch, height, width, channels)   y (batch, height·scale, width·scale, channels)
With ``align_corners`` the outermost pixels' centres meet, else their outer edges. Keeps nothing.
A copy, or about six operations per number of y, forward; an addition, or six operations, backward.
Source: PyTorch's Upsample.
"""

from dataclasses import dataclass
from typing import Literal, final

from jaxtyping import Float

from typednn.arguments import choice, flag, pair
from typednn.arrays import Array4
from typednn.errors import ArgumentError, explain
from typednn.kernels import upsample
from typednn.layer import Layer, S
from typednn.module.gradients import Gradient


@final
@dataclass(frozen=True, slots=True)
class UpsampleGrad(Gradient):
    """The loss's derivative by the input."""

    input: Float[Array4, "batch height width channels"]


@final
class Upsample(Layer[Array4, Array4, UpsampleGrad, S]):
    """``scale_factor`` is one integer or (height, width)."""

    def __init__(
        self,
        scale_factor: int | tuple[int, int],
        mode: Literal["nearest", "bilinear"] = "nearest",
        align_corners: bool = False,
    ) -> None:
        self.scale_factor: tuple[int, int] = pair("Upsample", "scale_factor", scale_factor)
        self.mode: Literal["nearest", "bilinear"] = choice("Upsample", "mode", mode, ("nearest", "bilinear"))
        self.align_corners: bool = flag("Upsample", "align_corners", align_corners)
        if align_corners and mode == "nearest":
            rule = "align_corners is for mode 'bilinear': a copy has no distance to a corner"
            raise ArgumentError(explain("Upsample", rule, repr(mode)), "align_corners")

    def forward(
        self, x: Float[Array4, "batch height width channels"]
    ) -> Float[Array4, "batch height*{self.scale_factor[0]} width*{self.scale_factor[1]} channels"]:
        return upsample.forward(x, self.scale_factor, self.mode, self.align_corners)

    def backward(self, next_grad: Float[Array4, "batch out_height out_width channels"]) -> UpsampleGrad:
        return UpsampleGrad(upsample.backward(next_grad, self.scale_factor, self.mode, self.align_corners))
