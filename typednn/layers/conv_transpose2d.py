"""ConvTranspose2d: each pixel adds a small window of weights, times its value, to a larger image.

y[b, i·stride + k·dilation - top, j·stride + l·dilation - left, o] += x[b,i,j,c] weight[c,k,l,o], and y += bias
It is Conv2d's derivative by its input: a stride enlarges, and padding takes rows and columns away.

x (batch, height, width, in_channels)   y (batch, out_height, out_width, out_channels)
weight (in_channels, kernel_height, kernel_width, out_channels/groups)   bias (out_channels)
out_height = (height - 1)·stride - 2·padding + dilation·(kernel_height - 1) + output_padding + 1, width likewise.
Keeps x, by reference. 2·batch·height·width·in·kernel·out/groups flops forward, twice that backward.
Source: torch.nn.ConvTranspose2d, whose weight (in, out/groups, height, width) has its channels last here.
"""

from dataclasses import dataclass
from typing import final

from jaxtyping import Float

from typednn.arguments import divisor, integer, pair
from typednn.arrays import Array1, Array4
from typednn.errors import ArgumentError, explain
from typednn.kernels import conv2d, conv_transpose2d
from typednn.layer import Layer, S
from typednn.module.fields import Kept, Parameter
from typednn.module.gradients import Gradient
from typednn.random import Initialiser, Rng


@final
@dataclass(frozen=True, slots=True)
class ConvTranspose2dGrad(
    Gradient, relations=("out_channels%group_channels == 0", "in_channels%(out_channels//group_channels) == 0")
):
    """The loss's derivative by each quantity, under that quantity's own name."""

    input: Float[Array4, "batch height width in_channels"]
    weight: Float[Array4, "in_channels kernel_height kernel_width group_channels"]
    bias: Float[Array1, " out_channels"] | None


@final
class ConvTranspose2d(Layer[Array4, Array4, ConvTranspose2dGrad, S]):
    """``kernel_size``, ``stride``, ``padding``, ``output_padding`` and ``dilation`` are one integer or (height, width).

    ``output_padding`` adds rows at the bottom and columns at the right: a stride makes several sizes the same, and this
    tells which.
    """

    weight: Parameter[
        Float[
            Array4, "{self.in_channels} {self.kernel_size[0]} {self.kernel_size[1]} {self.out_channels}//{self.groups}"
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
        padding: int | tuple[int, int] = 0,
        output_padding: int | tuple[int, int] = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: int | tuple[int, int] = 1,
        *,
        weight_init: str | Initialiser = "kaiming_uniform",
        bias_init: str | Initialiser = "same",
        rng: Rng | None = None,
    ) -> None:
        self.in_channels: int = integer("ConvTranspose2d", "in_channels", in_channels)
        self.out_channels: int = integer("ConvTranspose2d", "out_channels", out_channels)
        self.kernel_size: tuple[int, int] = pair("ConvTranspose2d", "kernel_size", kernel_size)
        self.stride: tuple[int, int] = pair("ConvTranspose2d", "stride", stride)
        self.padding: tuple[int, int] = pair("ConvTranspose2d", "padding", padding, 0)
        self.output_padding: tuple[int, int] = pair("ConvTranspose2d", "output_padding", output_padding, 0)
        self.groups: int = divisor(
            "ConvTranspose2d", "groups", groups, in_channels=self.in_channels, out_channels=self.out_channels
        )
        self.dilation: tuple[int, int] = pair("ConvTranspose2d", "dilation", dilation)
        if any(
            more >= max(steps) for more, *steps in zip(self.output_padding, self.stride, self.dilation, strict=True)
        ):
            got = f"output_padding={self.output_padding}, stride={self.stride}, dilation={self.dilation}"
            raise ArgumentError(
                explain("ConvTranspose2d", "output_padding must be less than stride or dilation", got), "output_padding"
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
        "(height-1)*{self.stride[0]}+{self.dilation[0]}*({self.kernel_size[0]}-1)+{self.output_padding[0]}+1-2*{self.padding[0]}"
        " "
        "(width-1)*{self.stride[1]}+{self.dilation[1]}*({self.kernel_size[1]}-1)+{self.output_padding[1]}+1-2*{self.padding[1]}"
        " {self.out_channels}",
    ]:
        self._x = x
        return conv_transpose2d.forward(x, self.weight, self.bias, self._window(), self._shape(x.shape))

    def backward(
        self, next_grad: Float[Array4, "batch out_height out_width {self.out_channels}"]
    ) -> ConvTranspose2dGrad:
        dx, dweight, dbias = conv_transpose2d.backward(next_grad, self._x, self.weight, self._window())
        return ConvTranspose2dGrad(dx, dweight, None if self.bias is None else dbias)

    def _window(self) -> conv2d.Window:
        """The window of the convolution that makes x's size of y's."""
        down, across = self.padding
        return conv2d.Window(self.stride, self.dilation, (across, across, down, down))

    def _shape(self, x: tuple[int, int, int, int]) -> tuple[int, ...]:
        """The shape of y."""
        height, width = (
            (x[axis + 1] - 1) * self.stride[axis]
            + self.dilation[axis] * (self.kernel_size[axis] - 1)
            + self.output_padding[axis]
            + 1
            - 2 * self.padding[axis]
            for axis in range(2)
        )
        return x[0], height, width, self.out_channels
