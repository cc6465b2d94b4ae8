"""Conv2d: a small window of weights slides over an image (cross-correlation), one pass per output channel.

y[b,i,j,o] = bias[o] + Σ_{k,l,c} x[b, i·stride + k·dilation, j·stride + l·dilation, c] weight[o,k,l,c], of x with zeros
around it. With groups, output channel o reads the in_channels/groups channels of its own group only.

x (batch, height, width, in_channels)   y (batch, out_height, out_width, out_channels)
weight (out_channels, kernel_height, kernel_width, in_channels/groups)   bias (out_channels)
out_height = (height + top + bottom - dilation·(kernel_height - 1) - 1)//stride + 1, width likewise.
Keeps x, by reference. 2·batch·out_height·out_width·out·kernel·in/groups flops forward, twice that backward.
Source: "Deep Learning Implementation With Rust", eqs 25-27 with their edge cases; as there, no bias unless asked.
Padding and groups as torch.nn.Conv2d.
"""

from dataclasses import dataclass
from typing import Literal, final

from jaxtyping import Float

from typednn.arguments import divisor, integer, pair, zeros_around
from typednn.arrays import Array1, Array4
from typednn.kernels import conv2d
from typednn.layer import Layer, S
from typednn.module.fields import Kept, Parameter
from typednn.module.gradients import GROUPS, Gradient
from typednn.random import Initialiser, Rng


@final
@dataclass(frozen=True, slots=True)
class Conv2dGrad(Gradient, relations=GROUPS):
    """The loss's derivative by each quantity, under that quantity's own name."""

    input: Float[Array4, "batch height width in_channels"]
    weight: Float[Array4, "out_channels kernel_height kernel_width group_channels"]
    bias: Float[Array1, " out_channels"] | None


@final
class Conv2d(Layer[Array4, Array4, Conv2dGrad, S]):
    """``kernel_size``, ``stride``, ``padding`` and ``dilation`` are one integer or (height, width).

    ``padding`` puts zeros on both sides, "same" as many as keep the size at stride 1, "valid" none; `Pad2d` puts other
    borders.
    """

    weight: Parameter[
        Float[
            Array4, "{self.out_channels} {self.kernel_size[0]} {self.kernel_size[1]} {self.in_channels}//{self.groups}"
        ]
    ]
    bias: Parameter[Float[Array1, " {self.out_channels}"] | None]
    _x: Kept[Float[Array4, "batch height width {self.in_channels}"]]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int],
        stride: int | tuple[int, int] = 1,
        padding: int | tuple[int, int] | Literal["same", "valid"] = 0,
        dilation: int | tuple[int, int] = 1,
        groups: int = 1,
        bias: bool = False,
        *,
        weight_init: str | Initialiser = "kaiming_uniform",
        bias_init: str | Initialiser = "same",
        rng: Rng | None = None,
    ) -> None:
        self.in_channels: int = integer("Conv2d", "in_channels", in_channels)
        self.out_channels: int = integer("Conv2d", "out_channels", out_channels)
        self.kernel_size: tuple[int, int] = pair("Conv2d", "kernel_size", kernel_size)
        self.stride: tuple[int, int] = pair("Conv2d", "stride", stride)
        self.dilation: tuple[int, int] = pair("Conv2d", "dilation", dilation)
        self.padding: tuple[int, int, int, int] = zeros_around(
            "Conv2d", padding, self.kernel_size, self.stride, self.dilation
        )
        self.groups: int = divisor(
            "Conv2d", "groups", groups, in_channels=self.in_channels, out_channels=self.out_channels
        )
        self.initialise_with(weight=weight_init, bias=weight_init if bias_init == "same" else bias_init)
        if not bias:
            self.bias = None
        if rng is not None:
            self.init(rng)

    def forward(
        self, x: Float[Array4, "batch height width {self.in_channels}"]
    ) -> Float[
        Array4,
        "batch "
        "(height+({self.padding[2]}+{self.padding[3]})-{self.dilation[0]}*({self.kernel_size[0]}-1)-1)//{self.stride[0]}+1"
        " "
        "(width+({self.padding[0]}+{self.padding[1]})-{self.dilation[1]}*({self.kernel_size[1]}-1)-1)//{self.stride[1]}+1"
        " {self.out_channels}",
    ]:
        self._x = x
        y, _ = conv2d.forward(x, self.weight, self.bias, conv2d.Window(self.stride, self.dilation, self.padding))
        return y

    def backward(self, next_grad: Float[Array4, "batch out_height out_width {self.out_channels}"]) -> Conv2dGrad:
        window = conv2d.Window(self.stride, self.dilation, self.padding)
        return Conv2dGrad(*conv2d.backward(next_grad, self._x, self.weight, window, wants_bias=self.bias is not None))
