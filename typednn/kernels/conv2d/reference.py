"""Conv2d: cross-correlation of images with a bank of kernels; an activation and max pooling may follow.

z[b,r,c,o] = bias[o] + Σ_ijk x[b, r·stride + i·dilation, c·stride + j·dilation, k] weight[o,i,j,k], of x with zeros
around it (`Window`) y = act(z), or y, winners = max_pool2d(act(z)) dz = dy through the activation at y; with pooling,
at the winner of each window, 0 elsewhere

x (batch, height, width, in_channels)                y, winners (batch, out_height, out_width, out_channels)
weight (out_channels, kernel_height, kernel_width, in_channels/groups)      bias (out_channels)
With groups, output channel o reads the input channels of its group only, k counts those.
z's height = (height with its padding - dilation·(kernel_height - 1) - 1) // stride + 1, the width likewise.

One matrix product for each group: ``patches`` holds, for each weight of a kernel and each pixel of z, the pixel it is
multiplied by:
    z = patchesᵀ weightᵀ + bias    dweight = (patches dz)ᵀ    dpatches = weightᵀ dzᵀ    dbias = Σ_batch,row,column dz
and dx sums dpatches over the places that one pixel was copied to. Pixels in no window (right, bottom) get 0.
This is eq 27 without its zeros: there dy is dilated and padded.

Only activations that are ``monotone``, as the compiled kernels pool first. Numbers that the activation makes equal then
have any of them as winner; the activation's derivative is 0 there.

2·batch·z's height·z's width·out_channels·kernel_height·kernel_width·in_channels/groups flops forward, twice that
backward; patches take kernel_height·kernel_width/stride² times the memory of x while a call lasts.
Source: "Deep Learning Implementation With Rust", eqs 25-31 and 38-39; bias and dilation added.
"""

import math
from collections.abc import Callable
from typing import Any

from jaxtyping import Float, Integer

from typednn.arrays import AnyIntArray, Array1, Array3, Array4, namespace
from typednn.kernels import sums
from typednn.kernels.activations import IDENTITY, Activation
from typednn.kernels.conv2d.geometry import Window
from typednn.kernels.max_pool2d import reference as max_pool2d
from typednn.kernels.pad2d import reference as pad2d
from typednn.kernels.windows import Pair, taps


def forward(
    x: Float[Array4, "batch height width in_channels"],
    weight: Float[Array4, "out_channels kernel_height kernel_width group_channels"],
    bias: Float[Array1, " out_channels"] | None,
    window: Window,
    activation: Activation = IDENTITY,
    keeps: bool = True,
) -> tuple[
    Float[Array4, "batch out_height out_width out_channels"],
    Integer[AnyIntArray, "batch out_height out_width out_channels"] | None,
]:
    """(y, winners); no winners without pooling, or unless ``keeps``."""
    banks = _by_group(weight, _groups(x.shape[3], weight))
    rows: Array3 = _patches(x, weight.shape[1:3], window, len(banks)).transpose(0, 2, 1) @ banks.transpose(0, 2, 1)
    z: Array4 = rows.transpose(1, 0, 2).reshape(len(x), *window.convolved(x.shape[1:3], weight.shape[1:3]), len(weight))
    if bias is not None:
        z += bias
    y: Array4 = activation.forward(z)
    if window.pooling is None:
        return y, None
    y, winners = max_pool2d.forward(y, *window.pooling)
    return y, winners if keeps else None


def derivative(
    next_grad: Float[Array4, "batch out_height out_width out_channels"],
    y: Float[Array4, "batch out_height out_width out_channels"] | None,
    winners: Integer[AnyIntArray, "batch out_height out_width out_channels"] | None,
    shape: tuple[int, ...],
    window: Window,
    activation: Activation,
    pool: Callable[..., Array4],
) -> Float[Array4, "batch z_height z_width out_channels"]:
    """dz, of ``shape``; ``pool`` is MaxPool2d's backward."""
    dy = activation.backward(next_grad, y)
    return dy if window.pooling is None else pool(dy, winners, shape, *window.pooling)


def backward(
    next_grad: Float[Array4, "batch out_height out_width out_channels"],
    x: Float[Array4, "batch height width in_channels"],
    weight: Float[Array4, "out_channels kernel_height kernel_width group_channels"],
    window: Window,
    activation: Activation = IDENTITY,
    y: Float[Array4, "batch out_height out_width out_channels"] | None = None,
    winners: Integer[AnyIntArray, "batch out_height out_width out_channels"] | None = None,
    wants_input: bool = True,
    wants_bias: bool = True,
) -> tuple[Any, Float[Array4, "out_channels kernel_height kernel_width group_channels"], Any]:
    """(dx, dweight, dbias), shaped like x, weight and bias; dx and dbias are None unless wanted.

    ``y`` and ``winners`` are what `forward` gave: needed with an activation, and with pooling.
    """
    kernel_size, groups = weight.shape[1:3], _groups(x.shape[3], weight)
    shape = len(x), *window.convolved(x.shape[1:3], kernel_size), len(weight)
    dz: Array4 = derivative(next_grad, y, winners, shape, window, activation, max_pool2d.backward)
    rows: Array3 = dz.reshape(-1, groups, len(weight) // groups).transpose(1, 0, 2)

    # Not rowsᵀ patchesᵀ, which is equal: in that form OpenBLAS's threads wait for each other, for seconds on a busy
    # machine.
    dweight: Array4 = (_patches(x, kernel_size, window, groups) @ rows).transpose(0, 2, 1).reshape(weight.shape)
    dbias: Array1 | None = sums.over(dz, (0, 1, 2)) if wants_bias else None
    return transposed(dz, weight, window, x.shape) if wants_input else None, dweight, dbias


def transposed(
    dz: Float[Array4, "batch z_height z_width out_channels"],
    weight: Float[Array4, "out_channels kernel_height kernel_width group_channels"],
    window: Window,
    shape: tuple[int, ...],
) -> Float[Array4, "batch height width in_channels"]:
    """dx, of ``shape``, from dz."""
    xp, kernel_size, (batch, height, width, in_channels) = namespace(dz), weight.shape[1:3], shape
    size, windows, groups = window.padded((height, width)), dz.shape[1:3], _groups(in_channels, weight)
    banks = _by_group(weight, groups)
    rows: Array3 = dz.reshape(-1, groups, len(weight) // groups).transpose(1, 0, 2)
    of_group = in_channels // groups
    dpatches = (banks.transpose(0, 2, 1) @ rows.transpose(0, 2, 1)).reshape(
        groups, math.prod(kernel_size), of_group, batch, *windows
    )
    planes = xp.zeros((groups, of_group, batch, *size), dtype=dz.dtype)
    for tap, (tap_rows, tap_columns) in enumerate(taps(size, kernel_size, window.stride, window.dilation)):
        planes[..., tap_rows, tap_columns] += dpatches[:, tap]
    images = planes.reshape(in_channels, batch, *size).transpose(1, 2, 3, 0)
    dx: Array4 = xp.ascontiguousarray(pad2d.backward(images, window.padding, "constant"))
    return dx


def _groups(in_channels: int, weight: Array4) -> int:
    """How many groups; 1 where the sizes contradict each other, about which NumPy complains."""
    return in_channels // weight.shape[3] or 1


def _by_group(
    weight: Float[Array4, "out_channels kernel_height kernel_width group_channels"], groups: int
) -> Float[Array3, "{groups} out_channels//{groups} kernel_height*kernel_width*group_channels"]:
    """The weights of each group, as a matrix."""
    banks: Array3 = weight.reshape(groups, len(weight) // groups, -1)
    return banks


def _patches(x: Array4, kernel_size: Pair, window: Window, groups: int) -> Array3:
    """(groups, kernel_height · kernel_width · in_channels/groups, batch · rows · columns of z): the pixels each weight
    is multiplied by.

    Channels go first, so that runs of pixels are copied and not one pixel's few channels at a time: 2 to 5 times
    faster.
    """
    xp = namespace(x)
    batch, height, width, in_channels = x.shape
    windows = window.convolved((height, width), kernel_size)
    padded = pad2d.forward(x, window.padding, "constant", 0.0) if any(window.padding) else x
    planes = xp.ascontiguousarray(padded.transpose(3, 0, 1, 2)).reshape(
        groups, in_channels // groups, batch, *padded.shape[1:3]
    )
    patches = xp.empty((groups, math.prod(kernel_size), in_channels // groups, batch, *windows), dtype=x.dtype)
    for tap, (rows, columns) in enumerate(taps(padded.shape[1:3], kernel_size, window.stride, window.dilation)):
        patches[:, tap] = planes[..., rows, columns]
    flat: Array3 = patches.reshape(groups, math.prod(kernel_size) * (in_channels // groups), batch * math.prod(windows))
    return flat
