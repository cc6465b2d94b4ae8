"""Totals: the sum of a formula over all numbers of some arrays, in double precision.

total = Σ_i formula(x_i, …)

A total is a formula in the dialect of `typednn.kernels.expressions`, of numbers in float64. On the CPU a kernel adds
pieces of a fixed length, each in several running sums, so a total is the same from run to run, whatever the number of
threads. `squares` is the total of x², of which a gradient's norm is the root; `sum_of` is that of x, in a kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any, Final, final

import numpy as np

from typednn.arrays import AnyArray, namespace
from typednn.engines import Array, Cpu, Kernel, empty, hl, kernel
from typednn.engines.dispatch import FLOATS
from typednn.kernels.elementwise import PARALLEL_FROM, PIECE
from typednn.kernels.expressions import Expressions
from typednn.kernels.op import Engine, op

_RUNNING: Final = 64  # sums in a piece: independent, so that additions run in parallel
_DOUBLE: Final[np.dtype[Any]] = np.dtype(np.float64)


@final
class Total:
    """Σ ``formula(xp, *arrays)``, in float64 and of rank 0; ``same``: in the dtype of the arrays, of shape (1)."""

    def __init__(self, name: str, formula: Callable[..., Any], arrays: int = 1, *, same: bool = False) -> None:
        self.name: str = name
        self.formula: Callable[..., Any] = formula
        self.arrays: int = arrays
        self.same: bool = same
        self.__module__: str = formula.__module__  # the source of this module is part of the kernel's key

    def __repr__(self) -> str:
        return f"{self.__module__}.{self.name}"

    @cached_property
    def kernels(self) -> dict[np.dtype[Any], Kernel]:
        """One pass over memory, by dtype."""
        inputs, options = (Array("elements", flat=True),) * self.arrays, {"total": self}
        return {
            dtype: kernel(
                self.name,
                _build,
                inputs=inputs,
                outputs=(Array(1, dtype=dtype.name if self.same else "float64"),),
                options=options,
                dtype=dtype,
            )
            for dtype in FLOATS
        }

    def run(self, *arrays: AnyArray) -> Any:
        """In a kernel."""
        dtype = arrays[0].dtype
        total: Any = empty((1,), dtype if self.same else _DOUBLE)
        self.kernels[dtype].call(*arrays, total)
        return total if self.same else total.reshape(())

    def reference(self, *arrays: AnyArray) -> Any:
        """On arrays of any dtype."""
        wide = [array.astype(_DOUBLE).reshape(1, array.size) for array in arrays]
        # Summed along an axis, as a sum over all would give a number and no array.
        total: Any = self.formula(namespace(arrays[0]), *wide).sum(axis=1)
        return total.astype(arrays[0].dtype) if self.same else total.reshape(())

    def op(self, flops: int) -> Callable[..., Any]:
        """This total as an op, with so many ``flops`` for each number."""
        names = [f"array{place}" for place in range(self.arrays)]
        engine = Engine("halide", self.run, " ".join(names), same_shape=True)
        return op(self.name, self.reference, engine, flops=flops, names=names)


def _build(cpu: Cpu, *arrays: hl.ImageParam, total: Total) -> hl.Func:
    i, piece, lane, double = hl.Var("i"), hl.Var("piece"), hl.Var("lane"), hl.Float(64)
    running, pieces, summed, result = (hl.Func(name) for name in ("running", "pieces", "summed", "result"))
    size, in_piece = arrays[0].dim(0).extent(), PIECE // _RUNNING
    rows = size / hl.i32(_RUNNING)
    row, sums = hl.RDom([(0, in_piece)]), hl.RDom([(0, _RUNNING)])
    every, rest = hl.RDom([(0, (rows + in_piece - 1) / in_piece)]), hl.RDom([(0, size % _RUNNING)])

    def term(at: hl.Expr) -> hl.Expr:
        found: hl.Expr = Expressions(64).of(total.formula, [hl.cast(double, array[at]) for array in arrays])
        return found

    # Whole rows of sums first; a rest is added at the end.
    row.where(piece * in_piece + row.x < rows)
    running[lane, piece] += term(hl.unsafe_promise_clamped(piece * in_piece + row.x, 0, rows - 1) * _RUNNING + lane)
    pieces[piece] += running[sums.x, piece]
    summed[()] += pieces[every.x]
    summed[()] += term(rows * _RUNNING + rest.x)
    result[i] = hl.cast(arrays[0].type() if total.same else double, summed[()])

    lanes = cpu.of("float64").lanes
    running.compute_at(pieces, piece).store_in(hl.MemoryType.Stack).bound(lane, 0, _RUNNING)
    running.vectorize(lane, lanes).unroll(lane)
    running.update().reorder(lane, row.x).vectorize(lane, lanes).unroll(lane)
    for stage in (pieces.compute_root(), pieces.update()):
        stage.specialize(size >= PARALLEL_FROM).parallel(piece)
    summed.compute_root()
    return result


def _square(xp: Any, x: Any) -> Any:
    return x * x


_squares: Final = Total("squares", _square)
squares: Final = _squares.op(flops=2)


def _itself(xp: Any, x: Any) -> Any:
    return x


sum_of: Final = Total("sum", _itself).run


def finite(array: AnyArray) -> bool:
    """Whether all numbers that a kernel wrote are finite: then so is the sum of their squares, but for float64's."""
    return math.isfinite(_squares.run(array)) or bool(np.isfinite(array).all())


__all__ = ["Total", "finite", "squares", "sum_of"]
