"""Conv1d: a small window of weights slides along a sequence (cross-correlation), one pass per output channel.

y[b,t,o] = bias[o] + Σ_{k,c} x[b, t·stride + k·dilation, c] weight[o,k,c], of x with zeros before and after it
With groups, output channel o reads the in_channels/groups channels of its own group only.

x (batch, time, in_channels)   y (batch, out_time, out_channels)
weight (out_channels, kernel_size, in_channels/groups)   bias (out_channels)
out_time = (time + before + after - dilation·(kernel_size - 1) - 1)//stride + 1
Keeps x, by reference. 2·batch·out_time·out·kernel·in/groups flops forward, twice that backward.
Source: conv2d on images of height 1; arguments as torch.nn.Conv1d.
"""

from dataclasses import dataclass
from typing import Literal, final

from jaxtyping import Float

from typednn.arguments import divisor, integer, zeros_around
from typednn.arrays import Array1, Array3, Array4
from typednn.kernels import conv2d
from typednn.kernels.reshape import reshape
from typednn.layer import Layer, S
from typednn.module.fields import Kept, Parameter
from typednn.module.gradients import GROUPS, Gradient
from typednn.random import Initialiser, Rng


@final
@dataclass(frozen=True, slots=True)
class Conv1dGrad(Gradient, relations=GROUPS):
    """The loss's derivative by each quantity, under that quantity's own name."""

    input: Float[Array3, "batch time in_channels"]
    weight: Float[Array3, "out_channels kernel_size group_channels"]
    bias: Float[Array1, " out_channels"] | None


@final
class Conv1d(Layer[Array3, Array3, Conv1dGrad, S]):
    """``padding`` puts zeros before and after, "same" as many as keep the length at stride 1, "valid" none."""

    weight: Parameter[Float[Array3, "{self.out_channels} {self.kernel_size} {self.in_channels}//{self.groups}"]]
    bias: Parameter[Float[Array1, " {self.out_channels}"] | None]
    _x: Kept[Float[Array3, "batch time {self.in_channels}"]]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        padding: int | Literal["same", "valid"] = 0,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = True,
        *,
        weight_init: str | Initialiser = "kaiming_uniform",
        bias_init: str | Initialiser = "same",
        rng: Rng | None = None,
    ) -> None:
        self.in_channels: int = integer("Conv1d", "in_channels", in_channels)
        self.out_channels: int = integer("Conv1d", "out_channels", out_channels)
        self.kernel_size: int = integer("Conv1d", "kernel_size", kernel_size)
        self.stride: int = integer("Conv1d", "stride", stride)
        self.dilation: int = integer("Conv1d", "dilation", dilation)
        if not isinstance(padding, str):
            padding = integer("Conv1d", "padding", padding, least=0)
        before, after, _, _ = zeros_around(
            "Conv1d", padding, (1, self.kernel_size), (1, self.stride), (1, self.dilation)
        )
        self.padding: tuple[int, int] = (before, after)
        self.groups: int = divisor(
            "Conv1d", "groups", groups, in_channels=self.in_channels, out_channels=self.out_channels
        )
        self.initialise_with(weight=weight_init, bias=weight_init if bias_init == "same" else bias_init)
        if not bias:
            self.bias = None
        if rng is not None:
            self.init(rng)

    def forward(
        self, x: Float[Array3, "batch time {self.in_channels}"]
    ) -> Float[
        Array3,
        "batch "
        "(time+({self.padding[0]}+{self.padding[1]})-{self.dilation}*({self.kernel_size}-1)-1)//{self.stride}+1 "
        "{self.out_channels}",
    ]:
        self._x = x
        y, _ = conv2d.forward(_rows(x), _rows(self.weight), self.bias, self._window())
        return _sequences(y)

    def backward(self, next_grad: Float[Array3, "batch out_time {self.out_channels}"]) -> Conv1dGrad:
        arrays = _rows(next_grad), _rows(self._x), _rows(self.weight)
        dx, dweight, dbias = conv2d.backward(*arrays, self._window(), wants_bias=self.bias is not None)
        return Conv1dGrad(_sequences(dx), _sequences(dweight), dbias)

    def _window(self) -> conv2d.Window:
        return conv2d.Window((1, self.stride), (1, self.dilation), (*self.padding, 0, 0))


def _rows(x: Float[Array3, "batch time channels"]) -> Float[Array4, "batch 1 time channels"]:
    """Each sequence as an image of height 1."""
    images: Array4 = reshape(x, (x.shape[0], 1, x.shape[1], x.shape[2]))
    return images


def _sequences(x: Float[Array4, "batch 1 time channels"]) -> Float[Array3, "batch time channels"]:
    """Each image of height 1 as a sequence."""
    sequences: Array3 = reshape(x, (x.shape[0], x.shape[2], x.shape[3]))
    return sequences
