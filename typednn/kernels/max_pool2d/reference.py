"""MaxPool2d: the largest pixel of each window.

y[b,r,c,k] = max_ij x[b, r·stride + i·dilation - padding, c·stride + j·dilation - padding, k], where outside the image x
is -inf dx[b,h,w,k] = Σ dy over the windows that pixel (h,w) won: overlapping windows add up.

x (batch, height, width, channels)      y, index (batch, out_height, out_width, channels)
index = i·kernel_width + j of the winner. The first of equals wins. NaN never wins; a window of nothing but NaN yields
-inf and index 0, which may lie in the border: no pixel won it.
kernel_height·kernel_width comparisons per output pixel, as many additions backward.
Source: "Deep Learning Implementation With Rust", eqs 38-39, with the stride they leave out; padding and dilation added.
"""

import numpy as np
from jaxtyping import Float, Integer

from typednn.arrays import AnyIntArray, Array4, namespace
from typednn.kernels.windows import Pair, output_sizes, padded, taps


def index_dtype(kernel_size: Pair) -> np.dtype[np.unsignedinteger]:
    """What the index of a winner is kept in."""
    return np.dtype("uint8" if kernel_size[0] * kernel_size[1] <= 256 else "uint32")


def forward(
    x: Float[Array4, "batch height width channels"],
    kernel_size: Pair,
    stride: Pair,
    dilation: Pair,
    padding: Pair = (0, 0),
) -> tuple[
    Float[
        Array4,
        "batch (height+2*{padding[0]}-{dilation[0]}*({kernel_size[0]}-1)-1)//{stride[0]}+1"
        " (width+2*{padding[1]}-{dilation[1]}*({kernel_size[1]}-1)-1)//{stride[1]}+1 channels",
    ],
    Integer[AnyIntArray, "batch out_height out_width channels"],
]:
    """(y, index), of one shape."""
    xp = namespace(x)
    if padding != (0, 0):
        down, across = padding
        x = xp.pad(x, ((0, 0), (down, down), (across, across), (0, 0)), constant_values=-xp.inf)
    batch, height, width, channels = x.shape
    shape = (batch, *output_sizes((height, width), kernel_size, stride, dilation), channels)
    y: Array4 = xp.full(shape, -xp.inf, dtype=x.dtype)
    index: AnyIntArray = xp.zeros(shape, dtype=index_dtype(kernel_size))
    for tap, (rows, columns) in enumerate(taps((height, width), kernel_size, stride, dilation)):
        candidate = x[:, rows, columns]
        # Taps come in ascending order, so the largest that won is the last; fmax passes NaN by. No branches: 3 times
        # faster.
        index = xp.maximum(index, (candidate > y).astype(index.dtype) * index.dtype.type(tap))
        y = xp.fmax(y, candidate)
    return y, index


def backward(
    next_grad: Float[Array4, "batch out_height out_width channels"],
    index: Integer[AnyIntArray, "batch out_height out_width channels"],
    input_shape: tuple[int, ...],
    kernel_size: Pair,
    stride: Pair,
    dilation: Pair,
    padding: Pair = (0, 0),
) -> Float[Array4, "batch height width channels"]:
    """dx, shaped ``input_shape``; ``index`` is what `forward` gave."""
    xp = namespace(next_grad)
    batch, height, width, channels = input_shape
    size = padded((height, width), padding)
    dx: Array4 = xp.zeros((batch, *size, channels), dtype=next_grad.dtype)
    for tap, (rows, columns) in enumerate(taps(size, kernel_size, stride, dilation)):
        dx[:, rows, columns] += xp.where(index == tap, next_grad, 0)
    inside: Array4 = dx[:, padding[0] : padding[0] + height, padding[1] : padding[1] + width]
    return inside.copy() if padding != (0, 0) else dx
