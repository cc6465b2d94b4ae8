"""AvgPool2d in Halide: forward a sum over taps, backward a gather, with the lanes of
`typednn.kernels.max_pool2d.cpu`.
"""

from __future__ import annotations

from typing import Any, TypeAlias, TypedDict, Unpack

import numpy as np

from typednn.arrays import Array4
from typednn.engines import Array, Cpu, Kernel, empty, hl, kernel, specialised
from typednn.engines.dispatch import FLOAT32
from typednn.kernels.max_pool2d.cpu import over_taps, pixel, scheduled
from typednn.kernels.windows import Pair, output_sizes

# Forward, backward, and the shape of y without the batch.
Planned: TypeAlias = tuple[Kernel, Kernel, tuple[int, int, int]]


class _Geometry(TypedDict):
    kernel_size: Pair
    stride: Pair
    padding: Pair
    image: Pair
    count_include_pad: bool


def _share(
    kind: hl.Type,
    r: hl.Expr,
    s: hl.Expr,
    kernel_size: Pair,
    stride: Pair,
    padding: Pair,
    image: Pair,
    count_include_pad: bool,
) -> hl.Expr:
    """1 / n of the window (r, s)."""
    one = hl.cast(kind, 1)
    if count_include_pad or padding == (0, 0):
        return one / hl.cast(kind, kernel_size[0] * kernel_size[1])
    counts: list[hl.Expr] = []
    for at, size, kernel_extent, step, border in zip((r, s), image, kernel_size, stride, padding, strict=True):
        first = at * step - border
        counts.append(hl.min(first + kernel_extent, size) - hl.max(first, 0))
    return one / hl.cast(kind, counts[0] * counts[1])


def _build_forward(cpu: Cpu, x: hl.ImageParam, size: tuple[int, int, int], **geometry: Unpack[_Geometry]) -> hl.Func:
    c, s, r, n = (hl.Var(name) for name in "csrn")
    y, total, kind = hl.Func("y"), hl.Func("total"), x.type()
    (down, across), stride, padding = geometry["kernel_size"], geometry["stride"], geometry["padding"]
    tap, zero = hl.RDom([(0, across), (0, down)]), hl.cast(kind, 0)
    row, column = r * stride[0] + tap.y - padding[0], s * stride[1] + tap.x - padding[1]
    total[c, s, r, n] = zero
    total[c, s, r, n] += pixel(x, (c, column, row, n), zero, geometry["image"], padding)
    y[c, s, r, n] = total[c, s, r, n] * _share(kind, r, s, **geometry)
    return over_taps(cpu, y, total, tap, (c, s, r, n), size, x.dim(3).extent(), (down, across))


def _build_backward(
    cpu: Cpu, next_grad: hl.ImageParam, windows: Pair, channels: int, **geometry: Unpack[_Geometry]
) -> hl.Func:
    c, w, h, n = (hl.Var(name) for name in "cwhn")
    dx, summed, kind = hl.Func("dx"), hl.Func("summed"), next_grad.type()
    (down, across), stride, padding = geometry["kernel_size"], geometry["stride"], geometry["padding"]
    size = (*geometry["image"], channels)

    def share_of(r: hl.Expr, s: hl.Expr, inside: hl.Expr) -> hl.Expr:
        inside = inside & (r >= 0) & (r < windows[0]) & (s >= 0) & (s < windows[1])
        r, s = hl.clamp(r, 0, windows[0] - 1), hl.clamp(s, 0, windows[1] - 1)
        return hl.select(inside, next_grad[c, s, r, n] * _share(kind, r, s, **geometry), 0)

    row, column = h + padding[0], w + padding[1]
    if down <= stride[0] and across <= stride[1]:  # windows are disjoint
        inside = (row % stride[0] < down) & (column % stride[1] < across)
        dx[c, w, h, n] = share_of(row / stride[0], column / stride[1], inside)
        scheduled(cpu, dx, (c, w, h, n), size, next_grad.dim(3).extent(), stride[1])
        return dx
    tap = hl.RDom([(0, across), (0, down)])
    row, column = row - tap.y, column - tap.x
    on_grid = (row % stride[0] == 0) & (column % stride[1] == 0)
    summed[c, w, h, n] += share_of(row / stride[0], column / stride[1], on_grid)
    dx[c, w, h, n] = summed[c, w, h, n]
    return over_taps(cpu, dx, summed, tap, (c, w, h, n), size, next_grad.dim(3).extent(), (down, across))


@specialised("avg_pool2d", "image sizes")
def kernels(
    image: Pair,
    channels: int,
    kernel_size: Pair,
    stride: Pair,
    padding: Pair,
    count_include_pad: bool,
    dtype: np.dtype[Any] = FLOAT32,
) -> Planned:
    """What `forward` and `backward` run."""
    windows = output_sizes(image, kernel_size, stride, (1, 1), padding)
    size, images = (*windows, channels), Array("batch", *image, channels)
    outputs = Array("batch", *size)
    options = {
        "kernel_size": kernel_size,
        "stride": stride,
        "padding": padding,
        "image": image,
        "count_include_pad": count_include_pad,
    }
    return (
        kernel(
            "avg_pool2d.forward",
            _build_forward,
            inputs=(images,),
            outputs=(outputs,),
            options={**options, "size": size},
            dtype=dtype,
        ),
        kernel(
            "avg_pool2d.backward",
            _build_backward,
            inputs=(outputs,),
            outputs=(images,),
            options={**options, "windows": windows, "channels": channels},
            dtype=dtype,
        ),
        size,
    )


def plan(x: Array4, kernel_size: Pair, stride: Pair, padding: Pair, count_include_pad: bool) -> Planned | None:
    """The kernels for images of this size; None where there are none."""
    return kernels[x.shape[1:3], x.shape[3], kernel_size, stride, padding, count_include_pad, x.dtype]


def plan_backward(
    next_grad: Array4,
    input_shape: tuple[int, ...],
    kernel_size: Pair,
    stride: Pair,
    padding: Pair,
    count_include_pad: bool,
) -> Planned | None:
    """As `plan`."""
    return kernels[input_shape[1:3], input_shape[3], kernel_size, stride, padding, count_include_pad, next_grad.dtype]


def forward(planned: Planned, x: Array4, *_: object) -> Array4:
    """(batch, out_height, out_width, channels)."""
    run, size = planned[0], planned[2]
    y: Array4 = empty((len(x), *size), x.dtype)
    run.call(x, y)
    return y


def backward(planned: Planned, next_grad: Array4, input_shape: tuple[int, ...], *_: object) -> Array4:
    """dx, shaped ``input_shape``."""
    dx: Array4 = empty(input_shape, next_grad.dtype)
    planned[1].call(next_grad, dx)
    return dx
