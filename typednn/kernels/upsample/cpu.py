"""Upsample in Halide: one kernel for both modes and both ways. Each number is a sum over those that it is made of, rows
first.

mixed[u,r] = Σ_k row_weights[k,r] · x[row_reads[k,r], u]          y[r,s] = Σ_l weights[l,s] · mixed[reads[l,s], r]

The tables hold what the reference reads, so 0 · inf is NaN where it is NaN there. Backward they hold, for each pixel of
dx, the pixels of y that read it. All pixels have as many: where one has fewer, half of a weight is added twice. Lanes
run along the channels; where these are few, along a row, whose numbers are looked up one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias, final

import numpy as np

from typednn.arrays import Array2, Array4, IntArray2
from typednn.engines import Array, Cpu, Kernel, empty, hl, kernel, specialised
from typednn.engines.dispatch import FLOAT32
from typednn.kernels.upsample.reference import Mode, read
from typednn.kernels.windows import Pair

# Channels from which lanes run along them.
_WIDE = 8
# Factors up to here have kernels, whose sums are straight code.
_LARGEST = 32
# Taps of a pixel up to which rows that are mixed anew for each column are quicker than rows that are kept.
_FEW = 4
# Work from which several threads pay: each task takes at least some microseconds.
_PARALLEL_FROM = 1 << 15

# for each pixel of the result those that it is made of, with their weights
_Reads: TypeAlias = list[list[tuple[int, float]]]


@final
@dataclass(frozen=True, slots=True)
class _Tables:
    """How an image of one size becomes one of another, (height, width, channels)."""

    size: tuple[int, int, int]
    taps: Pair
    lanes: int  # the channels, or 0 where lanes run along a row
    arrays: tuple[IntArray2, Array2, IntArray2, Array2]  # row_reads, row_weights, reads, weights


Planned: TypeAlias = tuple[Kernel, _Tables]


def _build(
    cpu: Cpu,
    x: hl.ImageParam,
    row_reads: hl.ImageParam,
    row_weights: hl.ImageParam,
    reads: hl.ImageParam,
    weights: hl.ImageParam,
    taps: Pair,
    channels: int,
) -> hl.Func:
    c, s, u, r, n, row, task = (hl.Var(name) for name in ("c", "s", "u", "r", "n", "row", "task"))
    y, mixed = hl.Func("y"), hl.Func("mixed")
    numbers, height = x.dim(0).extent(), x.dim(1).extent()

    def of_rows(k: int) -> hl.Expr:
        return row_weights[r, k] * x[u, hl.unsafe_promise_clamped(row_reads[r, k], 0, height - 1), n]

    def of_row(k: int) -> hl.Expr:
        first = hl.unsafe_promise_clamped(reads[s, k], 0, numbers - max(channels, 1))
        return weights[s, k] * mixed[first + c if channels else first, r, n]

    mixed[u, r, n] = sum(map(of_rows, range(1, taps[0])), of_rows(0))
    y[(c, s, r, n) if channels else (s, r, n)] = sum(map(of_row, range(1, taps[1])), of_row(0))
    out = y.output_buffer()
    width = out.dim(0).extent() * out.dim(1).extent() if channels else out.dim(0).extent()
    rows = out.dim(2 if channels else 1).extent() * x.dim(2).extent()
    y.fuse(r, n, row)
    several = y.specialize(rows * width >= _PARALLEL_FROM)
    several.split(row, task, row, hl.max(_PARALLEL_FROM // 4 / width, 1), hl.TailStrategy.GuardWithIf).parallel(task)
    for each in (several, y):
        if channels:
            each.vectorize(c, min(cpu.lanes, channels), hl.TailStrategy.ShiftInwards)
        else:
            each.vectorize(s, cpu.lanes, hl.TailStrategy.GuardWithIf)
    if taps[0] > 1 and not (channels and taps[0] * taps[1] <= _FEW):
        mixed.compute_at(y, row).vectorize(u, cpu.lanes, hl.TailStrategy.GuardWithIf)
    return y


@specialised("upsample")
def _kernels(taps: Pair, channels: int, dtype: np.dtype[Any] = FLOAT32) -> Kernel:
    rows, columns = (
        Array(count, size, dtype="int32", parameter=True) for count, size in zip(taps, ("rows", "columns"), strict=True)
    )
    row_weights, weights = (
        Array(count, size, parameter=True) for count, size in zip(taps, ("rows", "columns"), strict=True)
    )
    return kernel(
        "upsample",
        _build,
        inputs=(Array("batch", "height", "numbers"), rows, row_weights, columns, weights),
        outputs=(Array("batch", "rows", "columns", *([channels] if channels else [])),),
        options={"taps": taps, "channels": channels},
        dtype=dtype,
    )


def _forward_reads(size: int, scale: int, mode: Mode, align_corners: bool) -> _Reads:
    """What each pixel of y reads along an axis of x's ``size``."""
    if mode == "nearest":
        return [[(pixel // scale, 1.0)] for pixel in range(size * scale)]
    low, high = (
        zip(index.tolist(), weight.tolist(), strict=True) for index, weight in read(size, scale, align_corners)
    )
    return [list(both) for both in zip(low, high, strict=True)]


def _backward_reads(size: int, scale: int, mode: Mode, align_corners: bool) -> _Reads:
    """What each pixel of dx is read by along an axis of x's ``size``: of all as many."""
    readers: _Reads = [[] for _ in range(size)]
    for pixel, reads in enumerate(_forward_reads(size, scale, mode, align_corners)):
        for of, weight in reads:
            readers[of].append((pixel, weight))
    for each in readers:
        for _ in range(max(map(len, readers)) - len(each)):
            pixel, weight = each.pop()
            each += [(pixel, weight / 2)] * 2
    return readers


@lru_cache(maxsize=256)
def _tables(
    backward: bool, image: Pair, channels: int, scale: Pair, mode: Mode, align_corners: bool, dtype: np.dtype[Any]
) -> _Tables:
    """Of x's ``image``, forward or backward."""
    wide = channels >= _WIDE
    found: list[Any] = []
    for size, factor, step in zip(image, scale, (1, channels), strict=True):
        reads = (_backward_reads if backward else _forward_reads)(size, factor, mode, align_corners)
        table = np.array(reads).transpose(2, 1, 0)
        indices, weights = table[0].astype(np.int32) * step, table[1].astype(dtype)
        if step > 1 and not wide:
            indices = (indices[..., None] + np.arange(channels, dtype=np.int32)).reshape(len(indices), -1)
            weights = weights.repeat(channels, axis=1)
        found += [np.ascontiguousarray(indices), np.ascontiguousarray(weights)]
    height, width = image if backward else (image[0] * scale[0], image[1] * scale[1])
    taps = len(found[0]), len(found[2])
    return _Tables((height, width, channels), taps, channels if wide else 0, (found[0], found[1], found[2], found[3]))


def _planned(
    backward: bool, image: Pair, channels: int, scale: Pair, mode: Mode, align_corners: bool, dtype: np.dtype[Any]
) -> Planned | None:
    if max(scale) > _LARGEST:
        return None
    tables = _tables(backward, image, channels, scale, mode, align_corners, dtype)
    run = _kernels[tables.taps, tables.lanes, dtype]
    return None if run is None else (run, tables)


def plan(x: Array4, scale_factor: Pair, mode: Mode, align_corners: bool) -> Planned | None:
    """The kernel and its tables; None for the largest factors."""
    _, height, width, channels = x.shape
    return _planned(False, (height, width), channels, scale_factor, mode, align_corners, x.dtype)


def plan_backward(next_grad: Array4, scale_factor: Pair, mode: Mode, align_corners: bool) -> Planned | None:
    """As `plan`."""
    _, height, width, channels = next_grad.shape
    image = height // scale_factor[0], width // scale_factor[1]
    return _planned(True, image, channels, scale_factor, mode, align_corners, next_grad.dtype)


def forward(planned: Planned, x: Array4, *_: object) -> Array4:
    """(batch, height·scale, width·scale, channels)."""
    run, tables = planned
    batch, height = x.shape[:2]
    y: Array4 = empty((batch, *tables.size), x.dtype)
    run.call(x.reshape(batch, height, -1), *tables.arrays, y if tables.lanes else y.reshape(batch, tables.size[0], -1))
    return y


backward = forward  # dx of dy: the tables differ
