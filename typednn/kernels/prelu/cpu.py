"""PReLU in Halide: one pass over memory forward. Backward makes two, one for dx and one for dslope.

dslope is a sum of sums over pieces of a fixed length, each of several running sums: the same from run to run, whatever
the number of threads. Its other results equal LeakyReLU's bit for bit.
"""

from __future__ import annotations

from typing import TypeVar

from typednn.arrays import AnyArray, Array1
from typednn.engines import Array, Cpu, empty, hl, kernel
from typednn.engines.dispatch import FLOATS
from typednn.kernels.elementwise import ELEMENTS, PARALLEL_FROM, PIECE, is_positive, scheduled
from typednn.kernels.pointwise import leaky_relu

P = TypeVar("P", bound=AnyArray)

# Running sums in a piece: independent, so that additions run in parallel, and at least as many as any machine has
# lanes.
SUMS = 64

_value, _vjp = (formula.on_numbers for formula in leaky_relu.formulas)


def _build_forward(cpu: Cpu, x: hl.ImageParam, slope: hl.ImageParam) -> hl.Func:
    i, y = hl.Var("i"), hl.Func("y")
    y[i] = _value(x[i], slope[0])
    return scheduled(cpu, y, i, x.dim(0).extent())


def _build_backward(cpu: Cpu, next_grad: hl.ImageParam, x: hl.ImageParam, slope: hl.ImageParam) -> list[hl.Func]:
    i, piece, lane, size = hl.Var("i"), hl.Var("piece"), hl.Var("lane"), x.dim(0).extent()
    dx, running, pieces, total, dslope = (hl.Func(name) for name in ("dx", "running", "pieces", "total", "dslope"))
    dx[i] = _vjp(next_grad[i], x[i], slope[0])

    # Whole rows of sums first; a rest is added at the end.
    rows = size / hl.i32(SUMS)
    in_piece = PIECE // SUMS
    row, sums = hl.RDom([(0, in_piece)]), hl.RDom([(0, SUMS)])
    every, rest = hl.RDom([(0, (rows + in_piece - 1) / in_piece)]), hl.RDom([(0, size % SUMS)])

    def term(at: hl.Expr) -> hl.Expr:
        return hl.select(is_positive(x[at]), 0, next_grad[at] * x[at])

    row.where(piece * in_piece + row.x < rows)
    running[lane, piece] += term(hl.clamp(piece * in_piece + row.x, 0, rows - 1) * SUMS + lane)
    pieces[piece] += running[sums.x, piece]
    # In double precision: there may be many pieces.
    total[()] += hl.cast(hl.Float(64), pieces[every.x])
    total[()] += hl.cast(hl.Float(64), term(rows * SUMS + rest.x))
    dslope[i] = hl.cast(x.type(), total[()])

    running.compute_at(pieces, piece).store_in(hl.MemoryType.Stack).vectorize(lane, cpu.lanes)
    running.update().reorder(lane, row.x).vectorize(lane, cpu.lanes)
    for stage in (pieces.compute_root(), pieces.update()):
        stage.specialize(size >= PARALLEL_FROM).parallel(piece)
    total.compute_root()
    return [scheduled(cpu, dx, i, size), dslope]


_SLOPE = Array(1)
_forward = {
    dtype: kernel("prelu.forward", _build_forward, inputs=(ELEMENTS, _SLOPE), outputs=(ELEMENTS,), dtype=dtype)
    for dtype in FLOATS
}
_backward = {
    dtype: kernel(
        "prelu.backward", _build_backward, inputs=(ELEMENTS, ELEMENTS, _SLOPE), outputs=(ELEMENTS, _SLOPE), dtype=dtype
    )
    for dtype in FLOATS
}


def forward(x: P, slope: Array1) -> P:
    """y, shaped like x."""
    y: P = empty(x.shape, x.dtype)
    _forward[x.dtype](x, slope, y)
    return y


def backward(next_grad: P, x: AnyArray, slope: Array1) -> tuple[P, Array1]:
    """(dx, dslope), shaped like x and slope."""
    dx: P = empty(x.shape, x.dtype)
    dslope: Array1 = empty(slope.shape, x.dtype)
    _backward[x.dtype](next_grad, x, slope, dx, dslope)
    return dx, dslope
