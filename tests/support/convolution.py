"""The paper's definitions about convolution that no layer needs: equations 9, 10 and 26, and the borders called same and full."""

from typing import Any

import numpy as np

from typednn.kernels import conv2d
from typednn.kernels.conv2d import Window


def dilate2d(x: Any, factor: tuple[int, int]) -> Any:
    """factor - 1 zeros between neighbours: (height, width) becomes factor·(size - 1) + 1 (eq 26)."""
    batch, height, width, channels = x.shape
    down, across = factor
    y: Any = np.zeros((batch, down * (height - 1) + 1, across * (width - 1) + 1, channels), x.dtype)
    y[:, ::down, ::across] = x
    return y


def cross_correlate2d(image: Any, kernel: Any, stride: tuple[int, int]) -> Any:
    """y[r,c] = Σ_ij image[r·stride + i, c·stride + j] kernel[i,j] (eq 10): conv2d of one image with one channel."""
    forward: Any = conv2d.forward
    return forward(image[None, :, :, None], kernel[None, :, :, None], None, Window(stride))[0][0, :, :, 0]


def convolve2d(image: Any, kernel: Any, stride: tuple[int, int]) -> Any:
    """The kernel reversed along both axes (eq 9), then cross-correlated."""
    return cross_correlate2d(image, kernel[::-1, ::-1], stride)


def same_padding(size: int, kernel: int, stride: int) -> tuple[int, int]:
    """(before, after) along one axis, so that a kernel moved by stride gives ``size`` outputs again.

    size·(stride - 1) + kernel - stride in all; an odd one goes after. 0 where the kernel needs none.
    """
    total = max(size * (stride - 1) + kernel - stride, 0)
    return total // 2, total - total // 2


def full_padding(kernel: int) -> tuple[int, int]:
    """(before, after) along one axis, so that every tap of the kernel is multiplied by every pixel: kernel - 1 on both sides."""
    return kernel - 1, kernel - 1
