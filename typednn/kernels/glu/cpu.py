"""GLU in Halide: both halves of a row are read side by side, and one pass is made over memory.

The formulas are those of reference.py.
"""

from __future__ import annotations

from typednn.arrays import Array2
from typednn.engines import Array, Cpu, empty, hl, kernel
from typednn.engines.dispatch import FLOATS
from typednn.kernels.elementwise import PIECE, times_slope
from typednn.kernels.pointwise import sigmoid

_ROWS, _HALVES = Array("rows", "features"), Array("rows", 2, "features")
_gate = sigmoid.formulas[0].on_numbers


def _scheduled(cpu: Cpu, y: hl.Func, f: hl.Var, r: hl.Var, features: hl.Expr, rows: hl.Expr) -> hl.Func:
    """``y`` along the features in whole vectors, and several threads for many rows."""
    piece, count, inwards = hl.Var("piece"), hl.max(PIECE / features, 1), hl.TailStrategy.ShiftInwards
    several = y.specialize((features >= cpu.lanes) & (rows >= 4 * count))
    several.split(r, piece, r, count, hl.TailStrategy.GuardWithIf).parallel(piece)
    several.vectorize(f, cpu.lanes, inwards)
    y.specialize(features >= cpu.lanes).vectorize(f, cpu.lanes, inwards)
    return y.vectorize(f, cpu.lanes, hl.TailStrategy.GuardWithIf)


def _build_forward(cpu: Cpu, x: hl.ImageParam) -> hl.Func:
    f, r, y = hl.Var("f"), hl.Var("r"), hl.Func("y")
    y[f, r] = times_slope(x[f, 0, r], _gate(x[f, 1, r]))
    return _scheduled(cpu, y, f, r, x.dim(0).extent(), x.dim(2).extent())


def _build_backward(cpu: Cpu, next_grad: hl.ImageParam, x: hl.ImageParam) -> hl.Func:
    f, side, r, dx = hl.Var("f"), hl.Var("side"), hl.Var("r"), hl.Func("dx")
    gate = _gate(x[f, 1, r])
    da, db = times_slope(next_grad[f, r], gate), times_slope(next_grad[f, r] * x[f, 0, r], gate * (1 - gate))
    dx[f, side, r] = hl.select(side == 0, da, db)
    dx.bound(side, 0, 2).unroll(side)
    return _scheduled(cpu, dx, f, r, x.dim(0).extent(), x.dim(2).extent())


_forward = {
    dtype: kernel("glu.forward", _build_forward, inputs=(_HALVES,), outputs=(_ROWS,), dtype=dtype) for dtype in FLOATS
}
_backward = {
    dtype: kernel("glu.backward", _build_backward, inputs=(_ROWS, _HALVES), outputs=(_HALVES,), dtype=dtype)
    for dtype in FLOATS
}


def forward(x: Array2) -> Array2:
    """y (rows, features)."""
    rows, both = x.shape
    y: Array2 = empty((rows, both // 2), x.dtype)
    _forward[x.dtype].call(x.reshape(rows, 2, both // 2), y)
    return y


def backward(next_grad: Array2, x: Array2) -> Array2:
    """dx (rows, 2·features)."""
    rows, both = x.shape
    dx: Array2 = empty(x.shape, x.dtype)
    _backward[x.dtype].call(next_grad, x.reshape(rows, 2, both // 2), dx.reshape(rows, 2, both // 2))
    return dx
