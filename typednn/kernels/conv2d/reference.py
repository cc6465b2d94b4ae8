"""Conv2d: cross-correlation of images with a bank of kernels.

y[b,r,c,o] = bias[o] + Σ_ijk x[b, r·stride + i·dilation, c·stride + j·dilation, k] weight[o,i,j,k]

x (batch, height, width, in_channels)                y (batch, out_height, out_width, out_channels)
weight (out_channels, kernel_height, kernel_width, in_channels)      bias (out_channels)
out_height = (height - dilation·(kernel_height - 1) - 1) // stride + 1, the width alike.

One matrix product: ``patches`` holds, for each weight of a kernel, the pixels that it meets at every output pixel:
    y = patchesᵀ weightᵀ + bias      dweight = (patches dy)ᵀ     dpatches = weightᵀ dyᵀ      dbias = Σ_batch,row,column dy
and dx sums dpatches over the places that one pixel was copied to. Pixels that no window met (right, bottom) get 0.
This is eq 27, whose padding and dilating of dy say the same with zeros written out.

2·batch·out_height·out_width·out_channels·kernel_height·kernel_width·in_channels flops forward, twice that backward;
patches take kernel_height·kernel_width/stride² times the memory of x while a call lasts.
Source: "Deep Learning Implementation With Rust", eqs 25-27; bias and dilation added.
"""

from __future__ import annotations

from typednn.arrays import Array1, Array2, Array4, namespace
from typednn.kernels import sums
from typednn.kernels.windows import output_sizes, taps


def forward(x: Array4, weight: Array4, bias: Array1 | None, stride: tuple[int, int], dilation: tuple[int, int]) -> Array4:
    """y (batch, out_height, out_width, out_channels)."""
    batch, height, width, _ = x.shape
    out_channels, kernel_height, kernel_width, _ = weight.shape
    kernel_size = (kernel_height, kernel_width)
    out_height, out_width = output_sizes((height, width), kernel_size, stride, dilation)
    rows: Array2 = _patches(x, kernel_size, stride, dilation).T @ weight.reshape(out_channels, -1).T
    y: Array4 = rows.reshape(batch, out_height, out_width, out_channels)
    if bias is not None:
        y += bias
    return y


def backward(
    next_grad: Array4, x: Array4, weight: Array4, stride: tuple[int, int], dilation: tuple[int, int]
) -> tuple[Array4, Array4, Array1]:
    """(dx, dweight, dbias), shaped like x, weight and bias."""
    xp = namespace(x)
    batch, height, width, in_channels = x.shape
    out_channels, kernel_height, kernel_width, _ = weight.shape
    kernel_size = (kernel_height, kernel_width)
    _, out_height, out_width, _ = next_grad.shape
    rows: Array2 = next_grad.reshape(batch * out_height * out_width, out_channels)

    # Not rows.T @ patches.T, which says the same: there OpenBLAS's threads wait for each other, for seconds on a busy machine.
    dweight: Array4 = (_patches(x, kernel_size, stride, dilation) @ rows).T.reshape(weight.shape)
    dbias: Array1 = sums.over(next_grad, (0, 1, 2))

    dpatches = weight.reshape(out_channels, -1).T @ rows.T
    dpatches = dpatches.reshape(kernel_height * kernel_width, in_channels, batch, out_height, out_width)
    planes = xp.zeros((in_channels, batch, height, width), dtype=x.dtype)
    for tap, (met_rows, met_columns) in enumerate(taps((height, width), kernel_size, stride, dilation)):
        planes[:, :, met_rows, met_columns] += dpatches[tap]
    dx: Array4 = xp.ascontiguousarray(planes.transpose(1, 2, 3, 0))
    return dx, dweight, dbias


def _patches(x: Array4, kernel_size: tuple[int, int], stride: tuple[int, int], dilation: tuple[int, int]) -> Array2:
    """(kernel_height · kernel_width · in_channels, batch · out_height · out_width): what each weight meets, everywhere.

    Channels go first, so that runs of pixels are copied and not one pixel's few channels at a time: 2 to 5 times faster.
    """
    xp = namespace(x)
    batch, height, width, in_channels = x.shape
    out_height, out_width = output_sizes((height, width), kernel_size, stride, dilation)
    planes = xp.ascontiguousarray(x.transpose(3, 0, 1, 2))
    patches = xp.empty((kernel_size[0] * kernel_size[1], in_channels, batch, out_height, out_width), dtype=x.dtype)
    for tap, (rows, columns) in enumerate(taps((height, width), kernel_size, stride, dilation)):
        patches[tap] = planes[:, :, rows, columns]
    flat: Array2 = patches.reshape(kernel_size[0] * kernel_size[1] * in_channels, batch * out_height * out_width)
    return flat


def dilate2d(x: Array4, factor: tuple[int, int]) -> Array4:
    """factor - 1 zeros between neighbours: (height, width) becomes factor·(size - 1) + 1 (eq 26)."""
    batch, height, width, channels = x.shape
    down, across = factor
    y: Array4 = namespace(x).zeros((batch, down * (height - 1) + 1, across * (width - 1) + 1, channels), dtype=x.dtype)
    y[:, ::down, ::across] = x
    return y


def cross_correlate2d(image: Array2, kernel: Array2, stride: tuple[int, int]) -> Array2:
    """y[r,c] = Σ_ij image[r·stride + i, c·stride + j] kernel[i,j] (eq 10): conv2d of one image with one channel."""
    y: Array2 = forward(image[None, :, :, None], kernel[None, :, :, None], None, stride, (1, 1))[0, :, :, 0]
    return y


def convolve2d(image: Array2, kernel: Array2, stride: tuple[int, int]) -> Array2:
    """The kernel reversed along both axes (eq 9), then cross-correlated."""
    return cross_correlate2d(image, kernel[::-1, ::-1], stride)
