"""MaxPool2d in Halide: forward a comparison per tap, backward a gather.

Lanes run along the channels; where these are one or two, along a row. Each pixel of dx sums dy over the windows that it
won: at most one where windows don't overlap, otherwise as many as taps, added in the order of reference.py. Results
equal the reference's bit for bit.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from typednn.arrays import AnyIntArray, Array4
from typednn.engines import Array, Cpu, Kernel, empty, hl, kernel, nan, specialised
from typednn.engines.dispatch import FLOAT32
from typednn.kernels.max_pool2d.reference import index_dtype
from typednn.kernels.windows import Pair, output_sizes

# Taps up to here become straight code; larger windows are loops.
_UNROLLED = 25
# Work from which several threads pay: each task takes at least some microseconds.
_PARALLEL_FROM = 1 << 15


# Forward, backward, and the shape of y without the batch.
Planned: TypeAlias = tuple[Kernel, Kernel, tuple[int, int, int]]
# (channel, column, row, image): the loops of a kernel, and a place in an array.
Axes: TypeAlias = "tuple[hl.Var, hl.Var, hl.Var, hl.Var]"
Place: TypeAlias = "tuple[hl.Expr, hl.Expr, hl.Expr, hl.Expr]"


def scheduled(cpu: Cpu, y: hl.Func, axes: Axes, size: tuple[int, int, int], batch: hl.Expr, side: int = 1) -> hl.Var:
    """``y``, whose lanes are channels or columns, and by images in parallel; returns the axis of the lanes.

    ``side`` columns share what they are computed from.
    """
    c, x, r, n = axes
    rows, columns, channels = size
    lanes, extent = (c, channels) if channels > 2 or columns < channels else (x, columns)
    if lanes is x:
        y.reorder(x, c, r, n)
    images = max(_PARALLEL_FROM // (4 * rows * columns * channels), 1)
    several, row, column = (
        y.specialize(batch * (rows * columns * channels) >= _PARALLEL_FROM),
        hl.Var("row"),
        hl.Var("column"),
    )
    if images == 1:
        # Large images: rows of all images in turn.
        several.fuse(r, n, row).parallel(row)
    else:
        several.parallel(n, images, hl.TailStrategy.GuardWithIf)
    for each in (several, y):
        each.vectorize(lanes, min(cpu.lanes, extent), hl.TailStrategy.ShiftInwards)
        if lanes is c and 1 < side <= min(4, columns):
            # Within the vectors of channels, so that the shared ones are loaded once.
            each.split(
                x, x, column, side, hl.TailStrategy.ShiftInwards if columns % side == 0 else hl.TailStrategy.GuardWithIf
            )
            each.reorder(column, c).unroll(column) if channels > cpu.lanes else each.unroll(column)
    return lanes


def over_taps(
    cpu: Cpu,
    y: hl.Func,
    each: hl.Func,
    tap: hl.RDom,
    axes: Axes,
    size: tuple[int, int, int],
    batch: hl.Expr,
    kernel_size: Pair,
) -> hl.Func:
    """``y``, whose vectors are computed in ``each``, which goes over the taps of a window."""
    lanes = scheduled(cpu, y, axes, size, batch)
    extent = min(cpu.lanes, size[2] if lanes is axes[0] else size[1])
    each.compute_at(y, lanes).vectorize(lanes, extent)
    update = each.update().reorder(lanes, tap.x, tap.y).vectorize(lanes, extent)
    if kernel_size[0] * kernel_size[1] <= _UNROLLED:
        update.unroll(tap.x).unroll(tap.y)
    return y


def nearest(at: Place, image: Pair) -> tuple[Place, hl.Expr]:
    """The pixel of the image nearest to (channel, column, row, image), and whether that is the one."""
    c, column, row, n = at
    inside = (row >= 0) & (row < image[0]) & (column >= 0) & (column < image[1])
    return (c, hl.clamp(column, 0, image[1] - 1), hl.clamp(row, 0, image[0] - 1), n), inside


def pixel(x: hl.ImageParam, at: Place, outside: hl.Expr, image: Pair, padding: Pair) -> hl.Expr:
    """``x`` at (channel, column, row, image), or ``outside``; no test where no window reaches there."""
    if padding == (0, 0):
        return x[at]
    place, inside = nearest(at, image)
    return hl.select(inside, x[place], outside)


def _compared(x: hl.ImageParam, at: Place, image: Pair, padding: Pair) -> tuple[list[hl.Expr], list[hl.Expr], hl.Expr]:
    """What a window starts with, what its pixel at ``at`` has, and whether that one may win. First what is compared,
    last what y is.
    """
    if padding == (0, 0):
        lowest = x.type().min()
        # NaN is never larger than the lowest number, so it never wins.
        return [lowest], [hl.select(nan.is_nan(x[at]), lowest, x[at])], hl.cast(hl.Bool(), 1)
    # Compiled comparisons of floats may assume that none is infinite. In windows of -inf, NaN and border alone another
    # pixel would win. So the floats' bits are compared, as integers in the order of the floats: those of both zeros are
    # 0, NaN's beyond infinity's.
    at, inside = nearest(at, image)
    infinity, kind = nan.infinity(x[at]), hl.Int(x.type().bits())
    number = hl.reinterpret(kind, x[at])
    ordered = hl.select(number < 0, kind.min() - number, number)
    return [-infinity, kind.min() + infinity], [ordered, number], (ordered <= infinity) & inside


def _build_forward(
    cpu: Cpu,
    x: hl.ImageParam,
    kernel_size: Pair,
    stride: Pair,
    dilation: Pair,
    padding: Pair,
    image: Pair,
    size: tuple[int, int, int],
) -> hl.Func:
    c, s, r, n = (hl.Var(name) for name in "csrn")
    y, best = hl.Func("y"), hl.Func("best")
    index, tap = hl.UInt(8 * index_dtype(kernel_size).itemsize), hl.RDom([(0, kernel_size[1]), (0, kernel_size[0])])
    column, row = s * stride[1] + tap.x * dilation[1] - padding[1], r * stride[0] + tap.y * dilation[0] - padding[0]
    lowest, candidate, may_win = _compared(x, (c, column, row, n), image, padding)
    best[c, s, r, n] = hl.Tuple([*lowest, hl.cast(index, 0)])
    before = [best[c, s, r, n][number] for number in range(len(lowest) + 1)]
    wins = (candidate[0] > before[0]) & may_win
    after = [*candidate, hl.cast(index, tap.y * kernel_size[1] + tap.x)]
    best[c, s, r, n] = hl.Tuple([hl.select(wins, new, old) for new, old in zip(after, before, strict=True)])
    *_, largest, winner = before
    y[c, s, r, n] = hl.Tuple([hl.reinterpret(x.type(), largest), winner])
    return over_taps(cpu, y, best, tap, (c, s, r, n), size, x.dim(3).extent(), kernel_size)


def _build_backward(
    cpu: Cpu,
    next_grad: hl.ImageParam,
    index: hl.ImageParam,
    kernel_size: Pair,
    stride: Pair,
    dilation: Pair,
    padding: Pair,
    size: tuple[int, int, int],
    windows: Pair,
) -> hl.Func:
    c, w, h, n = (hl.Var(name) for name in "cwhn")
    dx, summed = hl.Func("dx"), hl.Func("summed")
    kind = hl.UInt(8 * index_dtype(kernel_size).itemsize)

    def gradient_if_won(r: hl.Expr, s: hl.Expr, tap: hl.Expr, inside: hl.Expr) -> hl.Expr:
        inside = inside & (r >= 0) & (r < windows[0]) & (s >= 0) & (s < windows[1])
        r, s = hl.clamp(r, 0, windows[0] - 1), hl.clamp(s, 0, windows[1] - 1)
        return hl.select(inside & (index[c, s, r, n] == hl.cast(kind, tap)), next_grad[c, s, r, n], 0)

    if dilation == (1, 1) and kernel_size[0] <= stride[0] and kernel_size[1] <= stride[1]:  # windows are disjoint
        down, across = h + padding[0], w + padding[1]
        i, j = down % stride[0], across % stride[1]
        dx[c, w, h, n] = gradient_if_won(
            down / stride[0], across / stride[1], i * kernel_size[1] + j, (i < kernel_size[0]) & (j < kernel_size[1])
        )
        scheduled(cpu, dx, (c, w, h, n), size, next_grad.dim(3).extent(), stride[1])
        return dx
    tap = hl.RDom([(0, kernel_size[1]), (0, kernel_size[0])])
    row, column = h + padding[0] - tap.y * dilation[0], w + padding[1] - tap.x * dilation[1]
    on_grid = (row % stride[0] == 0) & (column % stride[1] == 0)
    summed[c, w, h, n] += gradient_if_won(row / stride[0], column / stride[1], tap.y * kernel_size[1] + tap.x, on_grid)
    dx[c, w, h, n] = summed[c, w, h, n]
    return over_taps(cpu, dx, summed, tap, (c, w, h, n), size, next_grad.dim(3).extent(), kernel_size)


@specialised("max_pool2d", "image sizes")
def kernels(
    image: Pair,
    channels: int,
    kernel_size: Pair,
    stride: Pair,
    dilation: Pair,
    dtype: np.dtype[Any] = FLOAT32,
    padding: Pair = (0, 0),
) -> Planned:
    """What `forward` and `backward` run."""
    windows = output_sizes(image, kernel_size, stride, dilation, padding)
    size, images = (*windows, channels), Array("batch", *image, channels)
    outputs = Array("batch", *size), Array("batch", *size, dtype=index_dtype(kernel_size).name)
    options = {"kernel_size": kernel_size, "stride": stride, "dilation": dilation, "padding": padding}
    return (
        kernel(
            "max_pool2d.forward",
            _build_forward,
            inputs=(images,),
            outputs=outputs,
            options={**options, "image": image, "size": size},
            dtype=dtype,
        ),
        kernel(
            "max_pool2d.backward",
            _build_backward,
            inputs=outputs,
            outputs=(images,),
            options={**options, "size": (*image, channels), "windows": windows},
            dtype=dtype,
        ),
        size,
    )


def plan(x: Array4, kernel_size: Pair, stride: Pair, dilation: Pair, padding: Pair) -> Planned | None:
    """The kernels for images of this size; None where there are none."""
    return kernels[x.shape[1:3], x.shape[3], kernel_size, stride, dilation, x.dtype, padding]


def plan_backward(
    next_grad: Array4,
    index: AnyIntArray,
    input_shape: tuple[int, ...],
    kernel_size: Pair,
    stride: Pair,
    dilation: Pair,
    padding: Pair,
) -> Planned | None:
    """As `plan`, where the index is what `forward` gives."""
    if index.dtype != index_dtype(kernel_size):
        return None
    return kernels[input_shape[1:3], input_shape[3], kernel_size, stride, dilation, next_grad.dtype, padding]


def forward(planned: Planned, x: Array4, kernel_size: Pair, *_: object) -> tuple[Array4, AnyIntArray]:
    """(y, index), both (batch, out_height, out_width, channels)."""
    run, size = planned[0], planned[2]
    y: Array4 = empty((len(x), *size), x.dtype)
    index: AnyIntArray = empty(y.shape, index_dtype(kernel_size))
    run.call(x, y, index)
    return y, index


def backward(
    planned: Planned, next_grad: Array4, index: AnyIntArray, input_shape: tuple[int, ...], *_: object
) -> Array4:
    """dx, shaped ``input_shape``; ``index`` is what `forward` gave."""
    dx: Array4 = empty(input_shape, next_grad.dtype)
    planned[1].call(next_grad, index, dx)
    return dx
