"""Pad2d in Halide: one copy each way, row by row, as the pixels of a row are contiguous.

A row with its border is put together on the stack, and written as a whole. Sums (backward, replicate) are taken over
rows first, then columns, as in reference.py. The gradient of a constant border is a copy, not a view as in the
reference: the next kernel reads rows without gaps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from typednn.arrays import Array4
from typednn.engines import Array, Cpu, Kernel, Scalar, empty, hl, kernel, specialised
from typednn.engines.dispatch import FLOAT32
from typednn.kernels.pad2d.reference import Border, Mode
from typednn.kernels.windows import Pair

# Work from which several threads pay: each task takes at least some microseconds.
_PARALLEL_FROM = 1 << 17
# Vectors in a row from which it is copied straight from image to image.
_WIDE = 8


def _along(cpu: Cpu, stage: hl.Func | hl.Stage, axis: hl.Var | hl.RVar, extent: int) -> None:
    """Vectors along ``axis``, the last of which is guarded."""
    stage.vectorize(axis, min(cpu.lanes, extent), hl.TailStrategy.GuardWithIf)


def _scheduled(cpu: Cpu, y: hl.Func, rows: int, width: int, batch: hl.Expr) -> hl.Func:
    """``y`` by whole rows of ``width`` numbers, and by several images at once."""
    u, h, n = y.args()
    images = max(_PARALLEL_FROM // (4 * rows * width), 1)
    several = y.specialize(batch * (rows * width) >= _PARALLEL_FROM)
    if images == 1:
        several.parallel(h).parallel(n)
    else:
        several.parallel(n, images, hl.TailStrategy.GuardWithIf)
    for each in (several, y):
        each.vectorize(u, min(cpu.lanes, width), hl.TailStrategy.ShiftInwards)
    return y


def _build_forward(
    cpu: Cpu, x: hl.ImageParam, value: hl.Param, size: tuple[int, int, int], padding: Border, mode: Mode
) -> hl.Func:
    u, h, n, row, y = hl.Var("u"), hl.Var("h"), hl.Var("n"), hl.Func("row"), hl.Func("y")
    (height, width, channels), (left, right, top, _) = size, padding
    (high, wide), batch = _outside(size, padding), x.dim(2).extent()
    if mode == "constant" and width * channels >= _WIDE * cpu.lanes:
        # Most vectors contain no border and are copied straight; Halide generates a loop for each case.
        within = hl.BoundaryConditions.constant_exterior(
            x, value, [(0, width * channels), (0, height), (hl.Expr(), hl.Expr())]
        )
        y[u, h, n] = within[u - left * channels, h - top, n]
        return _scheduled(cpu, y, high, wide, batch)
    pixels, nearest = hl.RDom([(0, width * channels)]), hl.clamp(h - top, 0, height - 1)
    inside, copied = (h >= top) & (h < top + height), x[pixels.x, nearest, n]
    row[u, h, n] = value
    # The border above and below is a row of nothing but ``value``.
    row[pixels.x + left * channels, h, n] = copied if mode == "replicate" else hl.select(inside, copied, value)
    _along(cpu, row.update(0), pixels.x, width * channels)
    if mode == "replicate":
        for first, count, pixel in ((0, left, 0), (left + width, right, width - 1)):
            if count:
                border = hl.RDom([(0, channels), (0, count)])
                row[border.x + (border.y + first) * channels, h, n] = x[border.x + pixel * channels, nearest, n]
                _along(cpu, row.update(row.num_update_definitions() - 1).allow_race_conditions(), border.x, channels)
    y[u, h, n] = row[u, h, n]
    _along(cpu, row.compute_at(y, h).store_in(hl.MemoryType.Stack), u, wide)
    return _scheduled(cpu, y, high, wide, batch)


def _build_backward(
    cpu: Cpu, next_grad: hl.ImageParam, size: tuple[int, int, int], padding: Border, mode: Mode
) -> hl.Func:
    u, h, n = hl.Var("u"), hl.Var("h"), hl.Var("n")
    (height, width, channels), (left, right, top, bottom) = size, padding
    wide, batch = _outside(size, padding)[1], next_grad.dim(2).extent()
    dx, rows, row = hl.Func("dx"), hl.Func("rows"), hl.Func("row")
    if mode == "constant":
        dx[u, h, n] = next_grad[u + left * channels, h + top, n]
        return _scheduled(cpu, dx, height, width * channels, batch)
    # Rows first, corners included: the border's rows, summed, go to the first and the last.
    rows[u, h, n] = next_grad[u, h + top, n]
    for last, first, count in ((0, 0, top), (height - 1, top + height, bottom)):
        if count:
            border = hl.RDom([(0, wide), (0, count)])
            border.where(h == last)
            rows[border.x, h, n] += next_grad[border.x, border.y + first, n]
            _along(cpu, rows.update(rows.num_update_definitions() - 1).never_partition_all(), border.x, wide)
    # Then the corners reach their pixel along the columns.
    row[u, h, n] = rows[u + left * channels, h, n]
    for last, first, count in ((0, 0, left), (width - 1, left + width, right)):
        if count:
            border = hl.RDom([(0, channels), (0, count)])
            row[border.x + last * channels, h, n] += rows[border.x + (border.y + first) * channels, h, n]
            _along(cpu, row.update(row.num_update_definitions() - 1).allow_race_conditions(), border.x, channels)
    dx[u, h, n] = row[u, h, n]
    _along(cpu, rows.compute_at(dx, h).store_in(hl.MemoryType.Stack), u, wide)
    _along(cpu, row.compute_at(dx, h).store_in(hl.MemoryType.Stack), u, width * channels)
    return _scheduled(cpu, dx, height, width * channels, batch)


def _outside(size: tuple[int, int, int], padding: Border) -> tuple[int, int]:
    """(rows, numbers in each row) of an image with its border."""
    left, right, top, bottom = padding
    return top + size[0] + bottom, (left + size[1] + right) * size[2]


@specialised("pad2d", "image sizes")
def _kernels(
    image: Pair, channels: int, padding: Border, mode: Mode, dtype: np.dtype[Any] = FLOAT32
) -> tuple[Kernel, Kernel]:
    """Forward and backward."""
    size = (*image, channels)
    inside, outside = Array("batch", size[0], size[1] * size[2]), Array("batch", *_outside(size, padding))
    options = {"size": size, "padding": padding, "mode": mode}
    return (
        kernel(
            "pad2d.forward", _build_forward, inputs=(inside, Scalar()), outputs=(outside,), options=options, dtype=dtype
        ),
        kernel("pad2d.backward", _build_backward, inputs=(outside,), outputs=(inside,), options=options, dtype=dtype),
    )


def plan(x: Array4, padding: Border, mode: Mode, value: float) -> tuple[Kernel, Kernel] | None:
    """The kernels for images of this size; None where there are none."""
    return _kernels[x.shape[1:3], x.shape[3], padding, mode, x.dtype]


def plan_backward(next_grad: Array4, padding: Border, mode: Mode) -> tuple[Kernel, Kernel] | None:
    """As `plan`, from dy's size."""
    _, rows, columns, channels = next_grad.shape
    left, right, top, bottom = padding
    return _kernels[(rows - top - bottom, columns - left - right), channels, padding, mode, next_grad.dtype]


def forward(planned: tuple[Kernel, Kernel], x: Array4, padding: Border, mode: Mode, value: float) -> Array4:
    """y; ``value`` is read in mode "constant" only."""
    batch, height, width, channels = x.shape
    left, right, top, bottom = padding
    y: Array4 = empty((batch, top + height + bottom, left + width + right, channels), x.dtype)
    # With the border's columns and channels as one axis.
    planned[0].call(x.reshape(batch, height, -1), value, y.reshape(batch, y.shape[1], -1))
    return y


def backward(planned: tuple[Kernel, Kernel], next_grad: Array4, padding: Border, mode: Mode) -> Array4:
    """dx, smaller than dy by the border."""
    batch, rows, columns, channels = next_grad.shape
    left, right, top, bottom = padding
    height, width = rows - top - bottom, columns - left - right
    dx: Array4 = empty((batch, height, width, channels), next_grad.dtype)
    planned[1].call(next_grad.reshape(batch, rows, -1), dx.reshape(batch, height, -1))
    return dx
