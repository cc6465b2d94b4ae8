"""Accurate sums of many numbers.

Float32 numbers added one after another lose digits: a million times 0.1 is off by one per cent. So references add in
double precision. Kernels add up to `FEW` terms one after another; the error is at worst 3 units of the fifth digit,
usually one of the seventh. More terms are added in blocks of `BLOCK`, whose sums are added in double precision.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from typednn.arrays import AnyArray
from typednn.engines import hl, type_of
from typednn.engines.cuda_formula import CudaColumnSums

FEW = 1024
BLOCK = 128


def over(array: AnyArray, axis: int | tuple[int, ...]) -> Any:
    """The sum over an axis or several, in the array's own dtype."""
    return array.sum(axis=axis, dtype=np.float64).astype(array.dtype)


def _itself(xp: Any, x: Any) -> Any:
    return x


columns_on_gpu: Final = CudaColumnSums("column_sums", _itself, 1)


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum in a kernel: its value, and the Funcs that make it, each with the loop that the next one is computed in."""

    value: "hl.Expr"
    stages: "tuple[tuple[hl.Func, hl.RVar], ...]"

    def schedule(
        self,
        func: "hl.Func",
        var: "hl.Var | hl.RVar",
        loops: "tuple[hl.Var, ...]",
        each: "Callable[[hl.Func | hl.Stage], object]",
    ) -> None:
        """Compute it within ``func``'s loop ``var``, on the stack; ``loops`` are inside the loop over terms, ``each``
        schedules them.
        """
        for stage, terms in self.stages:
            each(stage.compute_at(func, var).store_in(hl.MemoryType.Stack))
            each(stage.update().reorder(*loops, terms))
            func, var = stage, terms


def total(
    name: str,
    at: "tuple[hl.Var, ...]",
    start: "hl.Expr",
    term: "Callable[[hl.Expr], hl.Expr]",
    count: "hl.Expr | int",
    few: bool,
) -> Sum:
    """start + Σ_k term(k) over ``count`` terms, for the Vars ``at``; ``few``: all terms one after another, for up to
    `FEW`.
    """
    result = hl.Func(name)
    if few:
        every = hl.RDom([(0, count)])
        result[at] = start
        result[at] += term(every.x)
        return Sum(result[at], ((result, every.x),))
    block, number, count = hl.Func(f"{name}_block"), hl.Var("block"), hl.cast(hl.Int(32), count)
    terms, blocks = hl.RDom([(0, BLOCK)]), hl.RDom([(0, (count + BLOCK - 1) / BLOCK)])
    k = number * BLOCK + terms.x
    terms.where(k < count)
    # Halide does not derive from the condition that no term beyond the last one is read.
    block[(*at, number)] += term(hl.unsafe_promise_clamped(k, 0, count - 1))
    real, double = type_of(start), hl.Float(64)
    result[at] = hl.cast(double, start)
    result[at] += hl.cast(double, block[(*at, blocks.x)])
    return Sum(hl.cast(real, result[at]), ((result, blocks.x), (block, terms.x)))
