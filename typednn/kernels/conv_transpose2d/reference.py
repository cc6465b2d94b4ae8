"""ConvTranspose2d: every pixel of x adds its window, times the weights, to y.

y[b, r·stride + i·dilation - top, c·stride + j·dilation - left, o] += x[b,r,c,k] weight[k,i,j,o], and y += bias

It is conv2d's derivative by its input: conv2d with the same weight and window makes x's size of y's. So dx is conv2d of dy, and dweight
is conv2d's, where dy is the image and x the derivative.

x (batch, height, width, in_channels)      y of ``shape``, (batch, out_height, out_width, out_channels)
weight (in_channels, kernel_height, kernel_width, out_channels/groups)      bias (out_channels)
2·batch·height·width·in_channels·kernel_height·kernel_width·out_channels/groups flops forward, twice that backward.
"""

from jaxtyping import Float

from typednn.arrays import Array1, Array4
from typednn.kernels import sums
from typednn.kernels.conv2d import reference as conv2d
from typednn.kernels.conv2d.geometry import Window


def forward(
    x: Float[Array4, "batch height width in_channels"],
    weight: Float[Array4, "in_channels kernel_height kernel_width group_channels"],
    bias: Float[Array1, " out_channels"] | None,
    window: Window,
    shape: tuple[int, ...],
) -> Float[Array4, "batch out_height out_width out_channels"]:
    """y, of ``shape``."""
    y = conv2d.transposed(x, weight, window, shape)
    return y if bias is None else y + bias


def backward(
    next_grad: Float[Array4, "batch out_height out_width out_channels"],
    x: Float[Array4, "batch height width in_channels"],
    weight: Float[Array4, "in_channels kernel_height kernel_width group_channels"],
    window: Window,
) -> tuple[
    Float[Array4, "batch height width in_channels"],
    Float[Array4, "in_channels kernel_height kernel_width group_channels"],
    Float[Array1, " out_channels"],
]:
    """(dx, dweight, dbias), shaped like x, weight and bias."""
    dx, _ = conv2d.forward(next_grad, weight, None, window)
    _, dweight, _ = conv2d.backward(x, next_grad, weight, window, wants_input=False, wants_bias=False)
    dbias: Array1 = sums.over(next_grad, (0, 1, 2))
    return dx, dweight, dbias
