"""ConvTranspose2d: every pixel of x adds its window, times the weights, to y.

y[b, r·stride + i·dilation - top, c·stride + j·dilation - left, o] += x[b,r,c,k] weight[k,i,j,o], and y += bias

It is conv2d's derivative by its input: conv2d with the same weight and window makes x's size of y's. So dx is conv2d of
dy, and dweight is conv2d's, where dy is the image and x the derivative. Where ``shape`` is larger, by rows and columns
that a stride does not make up for, the last of them are no window's: they are the bias.

x (batch, height, width, in_channels)      y of ``shape``, (batch, out_height, out_width, out_channels)
weight (in_channels, kernel_height, kernel_width, out_channels/groups)      bias (out_channels)
2·batch·height·width·in_channels·kernel_height·kernel_width·out_channels/groups flops forward, twice that backward.
"""

from jaxtyping import Float

from typednn.arrays import Array1, Array4, namespace
from typednn.kernels import sums
from typednn.kernels.conv2d import reference as conv2d
from typednn.kernels.conv2d.geometry import Window
from typednn.kernels.windows import Pair


def forward(
    x: Float[Array4, "batch height width in_channels"],
    weight: Float[Array4, "in_channels kernel_height kernel_width group_channels"],
    bias: Float[Array1, " out_channels"] | None,
    window: Window,
    shape: tuple[int, ...],
) -> Float[Array4, "batch out_height out_width out_channels"]:
    """y, of ``shape``."""
    window, (height, width) = _reached(x, weight, window, shape)
    y = conv2d.transposed(x, weight, window, (shape[0], height, width, shape[3]))
    if y.shape != shape:
        y = namespace(x).pad(y, ((0, 0), (0, shape[1] - height), (0, shape[2] - width), (0, 0)))
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
    window, (height, width) = _reached(x, weight, window, next_grad.shape)
    image: Array4 = next_grad[:, :height, :width]
    dx, _ = conv2d.forward(image, weight, None, window)
    _, dweight, _ = conv2d.backward(x, image, weight, window, wants_input=False, wants_bias=False)
    dbias: Array1 = sums.over(next_grad, (0, 1, 2))
    return dx, dweight, dbias


def _reached(
    x: Float[Array4, "batch height width in_channels"],
    weight: Float[Array4, "in_channels kernel_height kernel_width group_channels"],
    window: Window,
    shape: tuple[int, ...],
) -> tuple[Window, Pair]:
    """The window, and the part of y, (height, width), of which conv2d makes exactly x's sizes: all of y, unless it is
    larger.
    """
    sizes, kernel_size = (shape[1], shape[2]), weight.shape[1:3]
    if window.convolved(sizes, kernel_size) == x.shape[1:3]:
        return window, sizes
    left, _, top, _ = window.padding
    each = zip(x.shape[1:3], kernel_size, window.stride, window.dilation, (top, left), strict=True)
    down, across = (
        (count - 1) * stride + dilation * (taps - 1) + 1 - before for count, taps, stride, dilation, before in each
    )
    (height, width) = sizes
    return window._replace(padding=(left, max(across - width, 0), top, max(down - height, 0))), (
        min(height, down),
        min(width, across),
    )
