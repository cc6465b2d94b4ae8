"""AdaptiveAvgPool2d: means of windows, as many as asked for, whatever the image's size.

y[b,i,j,c] = the mean of x[b,h,w,c] over floor(i·height/out_height) <= h < ceil((i+1)·height/out_height), w likewise
dx sums dy / n over every window of n pixels that the pixel lies in

x (batch, height, width, channels)   y (batch, out_height, out_width, channels), of output_size (out_height, out_width)
Windows overlap where the sizes do not divide; of a smaller image, pixels are read several times.
Keeps x's shape. About one addition per number forward, as many backward.
Source: PyTorch's AdaptiveAvgPool2d.
"""

from dataclasses import dataclass
from typing import final

from jaxtyping import Float

from typednn.arguments import pair
from typednn.arrays import Array4
from typednn.kernels import adaptive_avg_pool2d
from typednn.layer import Layer, S
from typednn.module.fields import Kept
from typednn.module.gradients import Gradient


@final
@dataclass(frozen=True, slots=True)
class AdaptiveAvgPool2dGrad(Gradient):
    """The loss's derivative by the input."""

    input: Float[Array4, "batch height width channels"]


@final
class AdaptiveAvgPool2d(Layer[Array4, Array4, AdaptiveAvgPool2dGrad, S]):
    """``output_size`` is one integer or (height, width)."""

    _input_shape: Kept[tuple[int, ...]]

    def __init__(self, output_size: int | tuple[int, int]) -> None:
        self.output_size: tuple[int, int] = pair("AdaptiveAvgPool2d", "output_size", output_size)

    def forward(
        self, x: Float[Array4, "batch height width channels"]
    ) -> Float[Array4, "batch {self.output_size[0]} {self.output_size[1]} channels"]:
        self._input_shape = x.shape
        return adaptive_avg_pool2d.forward(x, self.output_size)

    def backward(
        self, next_grad: Float[Array4, "batch {self.output_size[0]} {self.output_size[1]} channels"]
    ) -> AdaptiveAvgPool2dGrad:
        return AdaptiveAvgPool2dGrad(adaptive_avg_pool2d.backward(next_grad, self._input_shape))
