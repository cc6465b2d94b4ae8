"""MaxPool2d: the largest number of each window, channel by channel.

y[b,i,j,c] = max_{k,l} x[b, i·stride + k·dilation, j·stride + l·dilation, c]
dx sums dy over every window in which that x was the largest; of equals the first in window order wins.

x (batch, height, width, channels)   y (batch, out_height, out_width, channels)
out_height = (height - dilation·(kernel_height - 1) - 1)//stride + 1, width likewise.
Keeps the winners' indices, one small integer per output. kernel·output comparisons forward, output additions backward.
Source: "Deep Learning Implementation With Rust", eqs 38-39, with stride in both.
"""

from dataclasses import dataclass
from typing import final

from jaxtyping import Float, Integer

from typednn.arguments import pair
from typednn.arrays import AnyIntArray, Array4
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
    """``stride`` is the kernel's size unless given; a NaN never wins."""

    _winners: Kept[Integer[AnyIntArray, "batch out_height out_width channels"]]
    _input_shape: Kept[tuple[int, ...]]

    def __init__(
        self,
        kernel_size: int | tuple[int, int],
        stride: int | tuple[int, int] | None = None,
        *,  # by name only: PyTorch has padding at this position
        dilation: int | tuple[int, int] = 1,
    ) -> None:
        self.kernel_size: tuple[int, int] = pair("MaxPool2d", "kernel_size", kernel_size)
        self.stride: tuple[int, int] = self.kernel_size if stride is None else pair("MaxPool2d", "stride", stride)
        self.dilation: tuple[int, int] = pair("MaxPool2d", "dilation", dilation)

    def forward(
        self, x: Float[Array4, "batch height width channels"]
    ) -> Float[
        Array4,
        "batch (height-{self.dilation[0]}*({self.kernel_size[0]}-1)-1)//{self.stride[0]}+1"
        " (width-{self.dilation[1]}*({self.kernel_size[1]}-1)-1)//{self.stride[1]}+1 channels",
    ]:
        largest, winners = max_pool2d.forward(x, self.kernel_size, self.stride, self.dilation)
        self._winners, self._input_shape = winners, x.shape
        return largest

    def backward(self, next_grad: Float[Array4, "batch out_height out_width channels"]) -> MaxPool2dGrad:
        return MaxPool2dGrad(max_pool2d.backward(next_grad, self._winners, self._input_shape, self.kernel_size, self.stride, self.dilation))
