"""LogSoftmax in Halide, in the manner of `typednn.kernels.softmax.cpu`.

The formulas are those of reference.py.
"""

from __future__ import annotations

from typing import Final

from typednn.engines import Cpu, hl, nan
from typednn.kernels.elementwise import decay
from typednn.kernels.softmax.cpu import by_rows, exponentials, kernels_by_rows, planned, total


def _build_forward(cpu: Cpu, x: hl.ImageParam, features: int) -> hl.Func:
    f, b, y, log_sum = hl.Var("f"), hl.Var("b"), hl.Func("y"), hl.Func("log_sum")
    _, row_sum, top = exponentials(cpu, x, features, y, f, b)
    # The sum is at least 1, or NaN, of which Halide's logarithm would make a number.
    log_sum[b] = hl.select(nan.is_nan(row_sum[b]), row_sum[b], hl.log(hl.clamp(row_sum[b], 1, features)))
    log_sum.compute_at(y, b)
    # In this order: of a large maximum plus the logarithm nothing of the logarithm would be left.
    y[f, b] = hl.strict_float(hl.strict_float(x[f, b] - top[b]) - log_sum[b])
    return by_rows(cpu, y, f, b, x.dim(1).extent(), features)


def _build_backward(cpu: Cpu, next_grad: hl.ImageParam, y: hl.ImageParam, features: int) -> hl.Func:
    f, b, dx = hl.Var("f"), hl.Var("b"), hl.Func("dx")
    row_sum = total(cpu, "sum", lambda at, row: next_grad[at, row], features, dx, b)
    dx[f, b] = next_grad[f, b] - decay(y[f, b]) * row_sum[b]
    return by_rows(cpu, dx, f, b, y.dim(1).extent(), features)


kernels: Final = kernels_by_rows("log_softmax", _build_forward, _build_backward)
plan: Final = planned(kernels)
