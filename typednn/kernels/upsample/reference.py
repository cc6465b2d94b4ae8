"""Upsample: an image with more pixels.

nearest:   y[b,i,j,c] = x[b, i//scale, j//scale, c]            dx = Σ dy over the copies of a pixel
bilinear:  y = (1-u)·(1-v)·x[low,low] + … + u·v·x[high,high]   dx = Σ dy times the weights with which a pixel was read

Along each axis, output pixel i lies on input pixel t = (i + 1/2)/scale - 1/2, at least 0; with ``align_corners`` on
t = i·(size - 1)/(scale·size - 1), so that the corners meet. low = floor(t), high = low + 1, at most the last; u or v =
t - low.

x (batch, height, width, channels)      y (batch, height·scale, width·scale, channels)
Nearest a copy forward, an addition per number of y backward; bilinear about six operations per number of y each way.
Source: PyTorch's Upsample.
"""

from typing import Any, Literal, TypeAlias

import numpy as np
from jaxtyping import Float, Integer

from typednn.arrays import Array1, Array4, IntArray1, namespace
from typednn.kernels.windows import Pair

Mode: TypeAlias = Literal["nearest", "bilinear"]


def forward(
    x: Float[Array4, "batch height width channels"], scale_factor: Pair, mode: Mode, align_corners: bool
) -> Float[Array4, "batch height*{scale_factor[0]} width*{scale_factor[1]} channels"]:
    """y; ``align_corners`` is read in mode "bilinear" only."""
    xp = namespace(x)
    batch, height, width, channels = x.shape
    if mode == "nearest":
        copies = xp.broadcast_to(
            x[:, :, None, :, None], (batch, height, scale_factor[0], width, scale_factor[1], channels)
        )
        # Copied first: the reshape of an image of one pixel would be a view of x.
        y: Array4 = copies.copy().reshape(batch, height * scale_factor[0], width * scale_factor[1], channels)
        return y
    y = x
    for axis, size, scale in ((2, width, scale_factor[1]), (1, height, scale_factor[0])):
        low, high = (
            xp.take(y, xp.asarray(index.tolist()), axis=axis) * _weights(xp, weight, x.dtype, axis)
            for index, weight in read(size, scale, align_corners)
        )
        y = low + high
    return y


def backward(
    next_grad: Float[Array4, "batch out_height out_width channels"], scale_factor: Pair, mode: Mode, align_corners: bool
) -> Float[Array4, "batch out_height//{scale_factor[0]} out_width//{scale_factor[1]} channels"]:
    """dx, smaller than dy by ``scale_factor``."""
    xp = namespace(next_grad)
    (down, across), (_, height, width, _) = scale_factor, next_grad.shape
    if mode == "nearest":
        dx: Array4 = next_grad[:, ::down, ::across].copy()
        for i, j in np.ndindex(down, across):
            if i or j:
                dx += next_grad[:, i::down, j::across]
        return dx
    dx = next_grad
    for axis, size, scale in ((1, height // down, down), (2, width // across, across)):
        weighted, dx = dx, xp.zeros((*dx.shape[:axis], size, *dx.shape[axis + 1 :]), dtype=dx.dtype)
        for index, weight in read(size, scale, align_corners):
            # The pixels that read one input pixel are neighbours: the first of them all at once, then the second of
            # them, …
            turn = np.arange(len(index)) - np.asarray(np.searchsorted(index, index), np.int64)
            for place in range(int(turn.max()) + 1):
                at, of = np.flatnonzero(turn == place), xp.asarray(index[turn == place].tolist())
                share = xp.take(weighted, xp.asarray(at.tolist()), axis=axis) * _weights(xp, weight[at], dx.dtype, axis)
                dx[(slice(None),) * axis + (of,)] += share
    return dx


def read(
    size: int, scale: int, align_corners: bool
) -> list[tuple[Integer[IntArray1, " {size}*{scale}"], Float[Array1, " {size}*{scale}"]]]:
    """For each output pixel along an axis of ``size`` the two input pixels that it reads, low and high, each with its
    weight.
    """
    pixels = np.arange(size * scale)
    corners = pixels * ((size - 1) / max(size * scale - 1, 1))
    source = corners if align_corners else np.maximum((pixels + 0.5) / scale - 0.5, 0.0)
    low = np.minimum(np.floor(source).astype(np.int64), size - 1)
    far = source - low
    return [(low, 1.0 - far), (np.minimum(low + 1, size - 1), far)]


def _weights(xp: Any, values: Any, dtype: Any, axis: int) -> Any:
    """One number for each pixel along ``axis``."""
    return xp.asarray(values.tolist(), dtype=dtype).reshape(-1, *(1,) * (3 - axis))
