"""AvgPool2d: the mean of each window.

y[b,r,c,k] = Σ_ij x[b, r·stride + i - padding, c·stride + j - padding, k] / n, where outside the image x is 0
dx[b,h,w,k] = Σ dy / n over the windows that pixel (h,w) lies in

n = kernel_height·kernel_width; without ``count_include_pad`` only the pixels of the window that lie in the image.
x (batch, height, width, channels)      y (batch, out_height, out_width, channels)
kernel_height·kernel_width additions per output pixel, as many backward.
"""

from typing import Any

from jaxtyping import Float

from typednn.arrays import Array4, namespace
from typednn.kernels.windows import Pair, output_sizes, padded, taps

_NEXT: Pair = (1, 1)  # the dilation: a window's pixels are neighbours


def forward(
    x: Float[Array4, "batch height width channels"],
    kernel_size: Pair,
    stride: Pair,
    padding: Pair,
    count_include_pad: bool,
) -> Float[
    Array4,
    "batch (height+2*{padding[0]}-{kernel_size[0]})//{stride[0]}+1 "
    "(width+2*{padding[1]}-{kernel_size[1]})//{stride[1]}+1 channels",
]:
    """y; see above."""
    xp = namespace(x)
    batch, height, width, channels = x.shape
    size = padded((height, width), padding)
    y: Array4 = xp.zeros((batch, *output_sizes(size, kernel_size, stride, _NEXT), channels), dtype=x.dtype)
    bordered = x if padding == (0, 0) else xp.pad(x, ((0, 0), (padding[0],) * 2, (padding[1],) * 2, (0, 0)))
    for rows, columns in taps(size, kernel_size, stride, _NEXT):
        y += bordered[:, rows, columns]
    y *= _shares(xp, x.dtype, (height, width), kernel_size, stride, padding, count_include_pad)
    return y


def backward(
    next_grad: Float[Array4, "batch out_height out_width channels"],
    input_shape: tuple[int, ...],
    kernel_size: Pair,
    stride: Pair,
    padding: Pair,
    count_include_pad: bool,
) -> Float[Array4, "batch height width channels"]:
    """dx, shaped ``input_shape``."""
    xp = namespace(next_grad)
    batch, height, width, channels = input_shape
    size = padded((height, width), padding)
    share = next_grad * _shares(xp, next_grad.dtype, (height, width), kernel_size, stride, padding, count_include_pad)
    dx: Array4 = xp.zeros((batch, *size, channels), dtype=next_grad.dtype)
    for rows, columns in taps(size, kernel_size, stride, _NEXT):
        dx[:, rows, columns] += share
    inside: Array4 = dx[:, padding[0] : padding[0] + height, padding[1] : padding[1] + width]
    return inside.copy() if padding != (0, 0) else dx


def _shares(
    xp: Any, dtype: Any, image: Pair, kernel_size: Pair, stride: Pair, padding: Pair, count_include_pad: bool
) -> Any:
    """1 / n of each window, (out_height, out_width, 1); of all windows one number where the border counts."""
    if count_include_pad or padding == (0, 0):
        return dtype.type(1.0 / (kernel_size[0] * kernel_size[1]))
    counts: list[Any] = []
    for size, kernel, step, border, windows in zip(
        image, kernel_size, stride, padding, output_sizes(image, kernel_size, stride, _NEXT, padding), strict=True
    ):
        first = xp.arange(windows) * step - border
        counts.append(xp.minimum(first + kernel, size) - xp.maximum(first, 0))
    return (1.0 / (counts[0][:, None, None] * counts[1][:, None])).astype(dtype)
