"""AdaptiveAvgPool2d: means of windows that divide an image into a given number of rows and columns.

y[b,r,c,k] = Σ x[b,h,w,k] / n over floor(r·height/rows) <= h < ceil((r+1)·height/rows), columns likewise
dx[b,h,w,k] = Σ dy / n over the windows that pixel (h,w) lies in

x (batch, height, width, channels)      y (batch, rows, columns, channels)      n the pixels of the window
Windows overlap where the sizes do not divide. Rows are summed first, then columns: about one addition per number of x.
Source: PyTorch's AdaptiveAvgPool2d.
"""

from typing import Any, Final

from jaxtyping import Float

from typednn.arrays import Array3, Array4, namespace
from typednn.kernels.op import op
from typednn.kernels.windows import Pair


def _windows(size: int, count: int) -> list[slice]:
    """Where each of ``count`` windows lies on an axis of ``size`` pixels."""
    return [slice(place * size // count, -(-(place + 1) * size // count)) for place in range(count)]


def _shares(
    xp: Any, dtype: Any, image: Pair, output_size: Pair
) -> Float[Array3, "{output_size[0]} {output_size[1]} 1"]:
    """1 / n of each window."""
    down, across = (
        xp.asarray([each.stop - each.start for each in _windows(*pair)])
        for pair in zip(image, output_size, strict=True)
    )
    shares: Array3 = (1.0 / (down[:, None, None] * across[:, None])).astype(dtype)
    return shares


def _forward(
    x: Float[Array4, "batch height width channels"], output_size: Pair
) -> Float[Array4, "batch {output_size[0]} {output_size[1]} channels"]:
    """y; see above."""
    xp = namespace(x)
    _, height, width, _ = x.shape
    rows = xp.stack([x[:, each].sum(axis=1) for each in _windows(height, output_size[0])], axis=1)
    y: Array4 = xp.stack([rows[:, :, each].sum(axis=2) for each in _windows(width, output_size[1])], axis=2)
    y *= _shares(xp, x.dtype, (height, width), output_size)
    return y


def _backward(
    next_grad: Float[Array4, "batch out_height out_width channels"], input_shape: tuple[int, ...]
) -> Float[Array4, "batch height width channels"]:
    """dx, shaped ``input_shape``."""
    xp = namespace(next_grad)
    batch, height, width, channels = input_shape
    output_size = next_grad.shape[1:3]
    share = next_grad * _shares(xp, next_grad.dtype, (height, width), output_size)
    rows: Any = xp.zeros((batch, output_size[0], width, channels), dtype=next_grad.dtype)
    for place, each in enumerate(_windows(width, output_size[1])):
        rows[:, :, each] += share[:, :, place : place + 1]
    dx: Array4 = xp.zeros(input_shape, dtype=next_grad.dtype)
    for place, each in enumerate(_windows(height, output_size[0])):
        dx[:, each] += rows[:, place : place + 1]
    return dx


backward: Final = op("adaptive_avg_pool2d.backward", _backward, flops=1)
forward: Final = op("adaptive_avg_pool2d.forward", _forward, flops=1, backward=backward)
