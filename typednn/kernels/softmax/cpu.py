"""Softmax in Halide: each row is read once, and its exponentials stay on the stack until their sum is known.

The formulas are those of reference.py. Numbers whose exponential is below the smallest normal one, 1.2e-38 in float32,
become 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np

from typednn.arrays import Array2
from typednn.engines import Array, Build, Cpu, Kernel, empty, hl, kernel, specialised, type_of
from typednn.engines.sizes import Specialised
from typednn.kernels import sums
from typednn.kernels.elementwise import decay

# Elements of one task, about; several threads only where there are several tasks.
_PIECE = 4096
# Vectors up to which a row is added in one go.
_FEW = 256
# A row of one feature is left to the reference: the compiler folds x - x to 0, which loses NaN and infinity.
LEAST_FEATURES = 2

InRow: TypeAlias = "Callable[[hl.Expr | int, hl.Expr], hl.Expr]"  # a number of a row, at (feature, row)
Pair: TypeAlias = tuple[Kernel, Kernel]  # forward and backward


def across(cpu: Cpu, y: hl.Scheduled, f: hl.Var, features: int) -> hl.Scheduled:
    """``y`` along a row of so many ``features``: whole vectors, the last of which overlaps the one before."""
    return y.vectorize(f, min(cpu.lanes, features), hl.TailStrategy.ShiftInwards)


def by_rows(cpu: Cpu, y: hl.Scheduled, f: hl.Var, b: hl.Var, batch: hl.Expr, features: int) -> hl.Scheduled:
    """The schedule of an op on rows: along each row, and several threads for many rows; few rows are one piece.

    The same code for few rows and for many, so that a row's numbers have the same bits whatever rows are computed with
    it.
    """
    rows, piece = max(_PIECE // features, 1), hl.Var("piece")
    size = hl.select(batch >= 4 * rows, rows, hl.max(batch, 1))
    return across(cpu, y.split(b, piece, b, size, hl.TailStrategy.GuardWithIf).parallel(piece), f, features)


def total(
    cpu: Cpu,
    name: str,
    value: InRow,
    features: int,
    y: hl.Func,
    b: hl.Var,
    largest: bool = False,
) -> hl.Func:
    """The sum, or the largest, of value(f, b) over f, for each row b of y.

    Long rows have several running sums in each lane; numbers beyond the last whole vector are added at the end.
    """
    lanes = cpu.lanes * (4 if features >= 16 * cpu.lanes else 1)
    result, running, lane = hl.Func(name), hl.Func(f"{name}_running"), hl.Var("lane")
    real = type_of(value(0, b))
    result[b] = real.min() if largest else hl.cast(real, 0)

    def add(values: Callable[[hl.RVar], hl.Expr], count: int) -> None:
        over = hl.RDom([(0, count)])
        result[b] = hl.max(result[b], values(over.x)) if largest else result[b] + values(over.x)
        result.update(result.num_update_definitions() - 1).atomic().vectorize(over.x, count)

    def vector(number: hl.Expr | int) -> hl.Expr:
        return value(lane + number * lanes, b)

    def across_lanes(stage: hl.Func | hl.Stage) -> None:
        stage.vectorize(lane, cpu.lanes).unroll(lane)

    full = features // lanes
    if full <= 1:
        add(lambda at: value(at, b), features)
        return result.compute_at(y, b)
    if largest:
        vectors = hl.RDom([(1, full - 1)])
        running[lane, b] = vector(0)
        running[lane, b] = hl.max(running[lane, b], vector(vectors.x))
        across_lanes(running.update().reorder(lane, vectors.x))
    else:
        sum_of_vectors = sums.total(
            f"{name}_vectors", (lane, b), vector(0), lambda k: vector(k + 1), full - 1, full <= _FEW
        )
        running[lane, b] = sum_of_vectors.value
        sum_of_vectors.schedule(y, b, (lane,), across_lanes)
    across_lanes(running.compute_at(y, b).store_in(hl.MemoryType.Stack).bound(lane, 0, lanes))
    add(lambda at: running[at, b], lanes)
    if features % lanes:
        add(lambda at: value(at + full * lanes, b), features % lanes)
    return result.compute_at(y, b)


def exponentials(
    cpu: Cpu, x: hl.ImageParam, features: int, y: hl.Func, f: hl.Var, b: hl.Var
) -> tuple[hl.Func, hl.Func, hl.Func]:
    """exp(x - max x) [f, b], its sum [b] and max x [b], computed for each row of ``y``.

    A NaN anywhere makes the whole row NaN, whatever the maximum is.
    """
    top = total(cpu, "top", lambda at, row: x[at, row], features, y, b, largest=True)
    exps = hl.Func("exps")
    exps[f, b] = decay(x[f, b] - top[b])
    across(cpu, exps.compute_at(y, b).store_in(hl.MemoryType.Stack), f, features)
    return exps, total(cpu, "sum", lambda at, row: exps[at, row], features, y, b), top


def kernels_by_rows(op: str, build_forward: Build, build_backward: Build) -> Specialised[Pair]:
    """The kernels, by numbers of features, of an op whose derivative needs its result alone; None where
    there are none.
    """

    @specialised(op, "numbers of features")
    def by_features(features: int, dtype: np.dtype[Any]) -> Pair | None:
        if features < LEAST_FEATURES:
            return None
        rows, options = Array("batch", features), {"features": features}
        return (
            kernel(f"{op}.forward", build_forward, inputs=(rows,), outputs=(rows,), options=options, dtype=dtype),
            kernel(
                f"{op}.backward", build_backward, inputs=(rows, rows), outputs=(rows,), options=options, dtype=dtype
            ),
        )

    return by_features


def planned(kernels: Specialised[Pair]) -> Callable[..., Pair | None]:
    """The plan of such an op."""

    def plan(x: Array2, *_: object) -> Pair | None:
        return kernels[x.shape[1], x.dtype]

    return plan


def forward(planned: Pair, x: Array2) -> Array2:
    """y (batch, features)."""
    y: Array2 = empty(x.shape, x.dtype)
    planned[0].call(x, y)
    return y


def backward(planned: Pair, next_grad: Array2, y: Array2) -> Array2:
    """dx, from what `forward` gave."""
    dx: Array2 = empty(y.shape, y.dtype)
    planned[1].call(next_grad, y, dx)
    return dx


def _build_forward(cpu: Cpu, x: hl.ImageParam, features: int) -> hl.Func:
    f, b, y = hl.Var("f"), hl.Var("b"), hl.Func("y")
    exps, row_sum, _ = exponentials(cpu, x, features, y, f, b)
    y[f, b] = exps[f, b] / row_sum[b]
    return by_rows(cpu, y, f, b, x.dim(1).extent(), features)


def _build_backward(cpu: Cpu, next_grad: hl.ImageParam, y: hl.ImageParam, features: int) -> hl.Func:
    f, b, dx = hl.Var("f"), hl.Var("b"), hl.Func("dx")
    projection = total(cpu, "projection", lambda at, row: next_grad[at, row] * y[at, row], features, dx, b)
    dx[f, b] = (next_grad[f, b] - projection[b]) * y[f, b]
    return by_rows(cpu, dx, f, b, y.dim(1).extent(), features)


kernels: Final = kernels_by_rows("softmax", _build_forward, _build_backward)
plan: Final = planned(kernels)
