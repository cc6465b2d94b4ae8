"""Pad2d: rows and columns added around an image.

mode "constant": the border is ``value`` (0 unless given); dx is dy without the border.
mode "replicate": the border repeats the nearest pixel; dx adds the border's derivative onto the edge pixels.

x (batch, height, width, channels)   y (batch, height + top + bottom, width + left + right, channels)
Keeps nothing. One copy forward, one backward.
Source: "Deep Learning Implementation With Rust", eqs 28-29; replicate, which the paper leaves out, as
numpy.pad(mode="edge").
"""

from dataclasses import dataclass
from typing import Literal, final

from jaxtyping import Float

from typednn.arguments import choice, integer, number
from typednn.arrays import Array4
from typednn.errors import ArgumentError, explain
from typednn.kernels import pad2d
from typednn.layer import Layer, S
from typednn.module.gradients import Gradient


@final
@dataclass(frozen=True, slots=True)
class Pad2dGrad(Gradient):
    """The loss's derivative by the input."""

    input: Float[Array4, "batch height width channels"]


@final
class Pad2d(Layer[Array4, Array4, Pad2dGrad, S]):
    """``padding`` is one integer for all sides, or (left, right, top, bottom) as in PyTorch."""

    def __init__(
        self,
        padding: int | tuple[int, int, int, int],
        mode: Literal["constant", "replicate"] = "constant",
        value: float = 0.0,
    ) -> None:
        sides = padding if isinstance(padding, list | tuple) else (padding,) * 4
        if len(sides) != 4:
            raise ArgumentError(
                explain("Pad2d", "padding must be one integer or (left, right, top, bottom)", repr(padding)), "padding"
            )
        left, right, top, bottom = (integer("Pad2d", "padding", side, least=0) for side in sides)
        self.padding: tuple[int, int, int, int] = (left, right, top, bottom)
        self.mode: Literal["constant", "replicate"] = choice("Pad2d", "mode", mode, ("constant", "replicate"))
        self.value: float = number("Pad2d", "value", value)

    def forward(
        self, x: Float[Array4, "batch height width channels"]
    ) -> Float[
        Array4, "batch height+{self.padding[2]}+{self.padding[3]} width+{self.padding[0]}+{self.padding[1]} channels"
    ]:
        return pad2d.forward(x, self.padding, self.mode, self.value)

    def backward(self, next_grad: Float[Array4, "batch out_height out_width channels"]) -> Pad2dGrad:
        return Pad2dGrad(pad2d.backward(next_grad, self.padding, self.mode))
