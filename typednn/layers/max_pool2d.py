"""MaxPool2d: the largest number of each window, channel by channel.

y[b,i,j,c] = max_{k,l} x[b, i·stride + k·dilation - padding, j·stride + l·dilation - padding, c], without what lies
outside the image dx sums dy over every window in which that x was the largest; of equals the first in window order
wins.

x (batch, height, width, channels)   y (batch, out_height, out_width, channels)
out_height = (height + 2·padding - dilation·(kernel_height - 1) - 1)//stride + 1, width likewise.
Keeps the winners' indices, one small integer per output. kernel·output comparisons forward, output additions backward.
Source: "Deep Learning Implementation With Rust", eqs 38-39, with stride in both; padding added.
"""

from dataclasses import dataclass
from typing import final

from jaxtyping import Float, Integer

from typednn.arguments import pair
from typednn.arrays import AnyIntArray, Array4
from typednn.errors import ArgumentError, explain
from typednn.kernels import max_pool2d
from typednn.layer import Layer, S
from typednn.module.fields import Kept
from typednn.module.gradients import Gradient


@final
@dataclass(frozen=True, slots=True)
class MaxPool2dGrad(Gradient):
    """The loss's derivative by the input."""

    input: Float[Array4, "batch height width channels"]


@final
class MaxPool2d(Layer[Array4, Array4, MaxPool2dGrad, S]):
    """``stride`` is the kernel's size unless given; a pixel of the border of ``padding`` never wins, nor does a NaN."""

    _winners: Kept[Integer[AnyIntArray, "batch out_height out_width channels"]]
    _input_shape: Kept[tuple[int, ...]]

    def __init__(
        self,
        kernel_size: int | tuple[int, int],
        stride: int | tuple[int, int] | None = None,
        padding: int | tuple[int, int] = 0,
        dilation: int | tuple[int, int] = 1,
    ) -> None:
        self.kernel_size: tuple[int, int] = pair("MaxPool2d", "kernel_size", kernel_size)
        self.stride: tuple[int, int] = self.kernel_size if stride is None else pair("MaxPool2d", "stride", stride)
        self.dilation: tuple[int, int] = pair("MaxPool2d", "dilation", dilation)
        self.padding: tuple[int, int] = pair("MaxPool2d", "padding", padding, least=0)
        most = tuple((step * (size - 1) + 1) // 2 for size, step in zip(self.kernel_size, self.dilation, strict=True))
        if self.padding[0] > most[0] or self.padding[1] > most[1]:
            rule = f"padding is at most half the window, {most}, or a window would lie in the border alone"
            raise ArgumentError(explain("MaxPool2d", rule, repr(padding)), "padding")

    def forward(
        self, x: Float[Array4, "batch height width channels"]
    ) -> Float[
        Array4,
        "batch (height+2*{self.padding[0]}-{self.dilation[0]}*({self.kernel_size[0]}-1)-1)//{self.stride[0]}+1"
        " (width+2*{self.padding[1]}-{self.dilation[1]}*({self.kernel_size[1]}-1)-1)//{self.stride[1]}+1 channels",
    ]:
        largest, winners = max_pool2d.forward(x, self.kernel_size, self.stride, self.dilation, self.padding)
        self._winners, self._input_shape = winners, x.shape
        return largest

    def backward(self, next_grad: Float[Array4, "batch out_height out_width channels"]) -> MaxPool2dGrad:
        window = self.kernel_size, self.stride, self.dilation, self.padding
        return MaxPool2dGrad(max_pool2d.backward(next_grad, self._winners, self._input_shape, *window))
