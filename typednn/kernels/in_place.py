"""Optimizer steps as kernels: several arrays written in place, in one pass over memory."""

from __future__ import annotations

from typednn.engines import Cpu, hl

_PARALLEL = 1 << 18  # numbers from which several threads pay
_CHUNK = 1 << 14  # numbers per task


def in_place(cpu: Cpu, i: hl.Var, values: list[hl.Expr], size: hl.Expr) -> hl.Func:
    """The Func of ``values`` at ``i``, where outputs are written over inputs that other values are computed from.

    Halide assumes that outputs don't share memory with inputs: it may store the first value of a Tuple, and then load
    the new number where the second value needs the old one. So one vector of all values is computed before the first is
    stored.

    Each operation is rounded by itself, as NumPy does it: with products and sums fused where the compiler likes, the
    bits of a number would depend on how many there are, and on where a slice of them begins.
    """
    block, outer, guard = hl.Var("block"), hl.Var("outer"), hl.TailStrategy.GuardWithIf
    new, after = hl.Func("new"), hl.Func("after")
    values = [hl.strict_float(each) for each in values]
    new[i] = hl.Tuple(values) if len(values) > 1 else values[0]
    after[i] = hl.Tuple([new[i][place] for place in range(len(values))]) if len(values) > 1 else new[i]
    in_chunks = after.specialize(size >= _PARALLEL).split(i, outer, i, _CHUNK, guard)
    in_chunks.split(i, block, i, cpu.lanes, guard).vectorize(i).parallel(outer)
    after.split(i, block, i, cpu.lanes, guard).vectorize(i)
    new.compute_at(after, block).store_in(hl.MemoryType.Stack).vectorize(i, cpu.lanes, guard)
    return after
