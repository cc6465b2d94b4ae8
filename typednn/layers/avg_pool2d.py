"""AvgPool2d: the mean of each window, channel by channel.

y[b,i,j,c] = Σ_{k,l} x[b, i·stride + k - padding, j·stride + l - padding, c] / n, where outside the image x is 0
dx sums dy / n over every window that the pixel lies in

n is kernel_height·kernel_width; with ``count_include_pad=False`` only the window's pixels inside the image.
x (batch, height, width, channels)   y (batch, out_height, out_width, channels)
out_height = (height + 2·padding - kernel_height)//stride + 1, width likewise.
Keeps x's shape. kernel·output additions forward, as many backward.
Source: PyTorch's AvgPool2d, without ceil_mode.
"""

from dataclasses import dataclass
from typing import final

from jaxtyping import Float

from typednn.arguments import flag, pair
from typednn.arrays import Array4
from typednn.errors import ArgumentError, explain
from typednn.kernels import avg_pool2d
from typednn.layer import Layer, S
from typednn.module.fields import Kept
from typednn.module.gradients import Gradient


@final
@dataclass(frozen=True, slots=True)
class AvgPool2dGrad(Gradient):
    """The loss's derivative by the input."""

    input: Float[Array4, "batch height width channels"]


@final
class AvgPool2d(Layer[Array4, Array4, AvgPool2dGrad, S]):
    """``stride`` is the kernel's size unless given; ``count_include_pad``: the zeros of the border count as pixels."""

    _input_shape: Kept[tuple[int, ...]]

    def __init__(
        self,
        kernel_size: int | tuple[int, int],
        stride: int | tuple[int, int] | None = None,
        padding: int | tuple[int, int] = 0,
        *,  # by name only: PyTorch has ceil_mode at this position
        count_include_pad: bool = True,
    ) -> None:
        self.kernel_size: tuple[int, int] = pair("AvgPool2d", "kernel_size", kernel_size)
        self.stride: tuple[int, int] = self.kernel_size if stride is None else pair("AvgPool2d", "stride", stride)
        self.padding: tuple[int, int] = pair("AvgPool2d", "padding", padding, least=0)
        self.count_include_pad: bool = flag("AvgPool2d", "count_include_pad", count_include_pad)
        most = self.kernel_size[0] // 2, self.kernel_size[1] // 2
        if self.padding[0] > most[0] or self.padding[1] > most[1]:
            rule = f"padding is at most half the window, {most}, or a window would lie in the border alone"
            raise ArgumentError(explain("AvgPool2d", rule, repr(padding)), "padding")

    def forward(
        self, x: Float[Array4, "batch height width channels"]
    ) -> Float[
        Array4,
        "batch (height+2*{self.padding[0]}-{self.kernel_size[0]})//{self.stride[0]}+1"
        " (width+2*{self.padding[1]}-{self.kernel_size[1]})//{self.stride[1]}+1 channels",
    ]:
        self._input_shape = x.shape
        return avg_pool2d.forward(x, self.kernel_size, self.stride, self.padding, self.count_include_pad)

    def backward(self, next_grad: Float[Array4, "batch out_height out_width channels"]) -> AvgPool2dGrad:
        window = self.kernel_size, self.stride, self.padding, self.count_include_pad
        return AvgPool2dGrad(avg_pool2d.backward(next_grad, self._input_shape, *window))
