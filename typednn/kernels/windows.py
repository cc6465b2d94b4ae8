"""The arithmetic of sliding windows that conv2d and the pools share.

Tap (i, j) of the window at output pixel (r, c) lies on input pixel (r·stride + i·dilation, c·stride + j·dilation); with
padding, on one that lies as many rows and columns before, which may be outside of the image.
Source: "Deep Learning Implementation With Rust", eqs 25 and 38, with dilation, and with the stride that eq 38 leaves
out.
"""

from collections.abc import Iterator
from typing import TypeAlias

Pair: TypeAlias = tuple[int, int]


def output_sizes(input_size: Pair, kernel_size: Pair, stride: Pair, dilation: Pair, padding: Pair = (0, 0)) -> Pair:
    """The numbers of windows that fit down and across: (size + 2·padding - dilation·(kernel - 1) - 1) // stride + 1."""
    (height, width), (down, across) = padded(input_size, padding), kernel_size
    return (height - dilation[0] * (down - 1) - 1) // stride[0] + 1, (width - dilation[1] * (across - 1) - 1) // stride[
        1
    ] + 1


def padded(input_size: Pair, padding: Pair) -> Pair:
    """The size of an image with a border on all sides."""
    return input_size[0] + 2 * padding[0], input_size[1] + 2 * padding[1]


def taps(input_size: Pair, kernel_size: Pair, stride: Pair, dilation: Pair) -> Iterator[tuple[slice, slice]]:
    """For each tap, row by row: the image rows and columns that it lies on, one for each window.

    No pixel occurs twice within one tap's slices, so ``+=`` through them loses nothing.
    """
    out_height, out_width = output_sizes(input_size, kernel_size, stride, dilation)
    for i in range(kernel_size[0]):
        for j in range(kernel_size[1]):
            yield _positions(i * dilation[0], out_height, stride[0]), _positions(j * dilation[1], out_width, stride[1])


def _positions(start: int, windows: int, stride: int) -> slice:
    return slice(start, start + (windows - 1) * stride + 1, stride)
