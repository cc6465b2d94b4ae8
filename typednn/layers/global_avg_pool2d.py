"""GlobalAvgPool2d: the mean of a whole image, channel by channel.

y[b,c] = Σ_{h,w} x[b,h,w,c] / (height·width)       dx[b,h,w,c] = dy[b,c] / (height·width)

x (batch, height, width, channels)   y (batch, channels): no `Flatten` is needed after it.
Keeps x's shape. One addition per number forward, a copy backward.
Source: Lin et al. 2013, "Network In Network"; PyTorch's AdaptiveAvgPool2d(1) and Flatten.
"""

from dataclasses import dataclass
from typing import final

from jaxtyping import Float

from typednn.arrays import Array2, Array4
from typednn.kernels import global_avg_pool2d
from typednn.layer import Layer, S
from typednn.module.fields import Kept
from typednn.module.gradients import Gradient


@final
@dataclass(frozen=True, slots=True)
class GlobalAvgPool2dGrad(Gradient):
    """The loss's derivative by the input."""

    input: Float[Array4, "batch height width channels"]


@final
class GlobalAvgPool2d(Layer[Array4, Array2, GlobalAvgPool2dGrad, S]):
    """Between the last image layer and the `Linear` that gives the scores; images of any size."""

    _shape: Kept[tuple[int, int, int, int]]

    def forward(self, x: Float[Array4, "batch height width channels"]) -> Float[Array2, "batch channels"]:
        self._shape = x.shape
        return global_avg_pool2d.forward(x)

    def backward(self, next_grad: Float[Array2, "batch channels"]) -> GlobalAvgPool2dGrad:
        return GlobalAvgPool2dGrad(global_avg_pool2d.backward(next_grad, self._shape))
