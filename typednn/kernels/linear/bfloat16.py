"""Products of linear layers in mixed precision: factors in bfloat16, sums in float32 (`typednn.engines.precision`).

out[m, n] = Σ_k left[m, k]·right[k, n]       left, right: a and b, or their transposes, rounded to bfloat16

One instruction multiplies two pairs and adds them to a float32 sum, in 16 lanes. So both factors are packed first: two
neighbours in k side by side, and of ``right`` in strips of 64 columns. A task has 48 rows of one strip; of these 6 at a
time are in registers, for at most 512 neighbours in k. Each sum is one task's, so threads don't change the bits.
Numbers below 2^-126 count as 0. Where the processor has no such instruction, or there is no compiler, the reference
computes with rounded numbers.
Source: Goto and van de Geijn 2008, "Anatomy of High-Performance Matrix Multiplication".
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np

from typednn.arrays import Array1, Array2
from typednn.engines import Array, Cpu, Kernel, empty, hl, kernel, nan
from typednn.engines.precision import multiplies_bfloat16
from typednn.kernels import sums
from typednn.kernels.activations import IDENTITY, Activation
from typednn.kernels.bfloat16 import rounded
from typednn.kernels.linear import cpu, reference

LANES: Final = 16  # of AVX-512, which the instruction needs
ROWS: Final = 6  # of a tile, whose sums are in registers: 6·4 vectors
STRIP: Final = 4 * LANES  # columns
TILES: Final = 8  # of a task
PAIRS: Final = 256  # neighbours in k, in pairs, between two visits of a sum in memory
LEAST: Final = 1 << 23  # multiplications from which a product in bfloat16 is quicker
FEWEST: Final = 16  # rows of x, as the other factor is packed anew for each product
UINT16: Final = np.dtype(np.uint16)
REFERENCE: Final = "reference"  # the plan where there is no instruction


def plan(x: Array2, weight: Array2, bias: Array1 | None, activation: Activation) -> Any:
    """What `forward` calls after the product; None for a small one."""
    return _planned(x, weight, lambda: cpu.plan_by_blas(x, weight, bias, activation))


def plan_backward(
    next_grad: Array2, x: Array2, weight: Array2, y: Array2 | None, activation: Activation, wants_input: bool
) -> Any:
    """What `backward` calls before the products; None for small ones."""
    return _planned(x, weight, lambda: cpu.plan_backward_by_blas(next_grad, x, weight, y, activation, wants_input))


def forward(planned: Any, x: Array2, weight: Array2, bias: Array1 | None, activation: Activation) -> Array2:
    """y (batch, out_features)."""
    if planned is REFERENCE:
        return reference.forward(rounded(x), rounded(weight), bias, activation)
    return cpu.forward_by_blas(planned, x, weight, bias, activation, product)


def backward(
    planned: Any,
    next_grad: Array2,
    x: Array2,
    weight: Array2,
    y: Array2 | None,
    activation: Activation,
    wants_input: bool,
) -> tuple[Array2 | None, Array2, Array1]:
    """(dx, dweight, dbias); dx is None unless wanted."""
    if planned is not REFERENCE:
        return cpu.backward_by_blas(planned, next_grad, x, weight, y, activation, wants_input, product)
    dz = activation.backward(next_grad, y)
    dx, dweight, _ = reference.backward(rounded(dz), rounded(x), rounded(weight), None, IDENTITY, wants_input)
    return dx, dweight, sums.over(dz, 0)


def _planned(x: Array2, weight: Array2, kernels: Callable[[], Any]) -> Any:
    if x.shape[0] < FEWEST or x.shape[0] * weight.size < LEAST:
        return None
    return kernels() if multiplies_bfloat16() else REFERENCE


def product(a: Array2, b: Array2, out: Array2, transpose_a: bool = False, transpose_b: bool = False) -> None:
    """Write the product to ``out``, by the instruction; the arguments are those of `typednn.engines.gemm`."""
    rows, depth = ROWS * TILES, a.shape[not transpose_a]
    blocks = -(-depth // (2 * PAIRS))
    pairs = blocks * -(-depth // (2 * blocks))  # of blocks of equal size
    pairs += -pairs % LANES
    tasks, strips = -(-out.shape[0] // rows), -(-out.shape[1] // STRIP)
    left = empty((tasks, pairs, rows, 2) if transpose_a else (tasks, rows, pairs, 2), UINT16)
    _product(transpose_a, transpose_b).call(a, b, left, empty((strips, pairs, STRIP, 2), UINT16), out)


@cache
def _product(transpose_a: bool, transpose_b: bool) -> Kernel:
    rows = ROWS * TILES
    a = Array("depth", "rows") if transpose_a else Array("rows", "depth")
    b = Array("columns", "depth") if transpose_b else Array("depth", "columns")
    left = ("tasks", "pairs", rows, 2) if transpose_a else ("tasks", rows, "pairs", 2)
    packed = Array(*left, dtype="uint16"), Array("strips", "pairs", STRIP, 2, dtype="uint16")
    options = {"transpose_a": transpose_a, "transpose_b": transpose_b}
    outputs = (*packed, Array("rows", "columns"))
    return kernel("linear.bfloat16", build, inputs=(a, b), outputs=outputs, options=options)


def build(cpu: Cpu, a: hl.ImageParam, b: hl.ImageParam, *, transpose_a: bool, transpose_b: bool) -> list[hl.Func]:
    """The packed factors, and out[n, m]: tasks of rows and strips."""
    rows = ROWS * TILES
    depth, columns = a.dim(int(transpose_a)).extent(), b.dim(int(transpose_b)).extent()
    pairs = (depth + 1) // 2
    blocks = (pairs + PAIRS - 1) // PAIRS
    block = (pairs + blocks - 1) // blocks  # pairs of one
    side, pair, n, m, at, part = (hl.Var(name) for name in ("side", "pair", "n", "m", "at", "part"))
    outer_n, outer_m, task, tile, row = (hl.Var(name) for name in ("outer_n", "outer_m", "task", "tile", "row"))

    left, right = hl.Func("left"), hl.Func("right")
    height = a.dim(int(not transpose_a)).extent()
    along = (side, row, pair, task) if transpose_a else (side, pair, row, task)
    left[along] = _packed(a, 2 * pair + side, task * rows + row, depth, height, transpose_a)
    right[side, n, pair, at] = _packed(b, 2 * pair + side, at * STRIP + n, depth, columns, not transpose_b)

    sums, total, out = hl.Func("sums"), hl.Func("total"), hl.Func("out")
    r, over = hl.RDom([(0, 2), (0, block)], "r"), hl.RDom([(0, blocks)], "over")
    step = part * block + r[1]
    factor = left[r[0], m % rows, step, m // rows] if transpose_a else left[r[0], step, m % rows, m // rows]
    sums[n, at, m, part] = hl.f32(0)
    sums[n, at, m, part] += _wide(factor) * _wide(right[r[0], n, step, at])
    total[n, at, m] = hl.f32(0)
    total[n, at, m] += sums[n, at, m, over[0]]
    out[n, m] = total[n % STRIP, n // STRIP, m]

    guarded = hl.TailStrategy.GuardWithIf
    out.split(n, outer_n, n, STRIP, guarded).split(m, outer_m, m, rows, guarded).reorder(n, m, outer_m, outer_n)
    out.vectorize(n, LANES).fuse(outer_m, outer_n, task).parallel(task)
    for func, size in ((total, rows), (sums, ROWS)):
        func.bound(n, 0, STRIP).bound_extent(m, size).bound_extent(at, 1).store_in(hl.MemoryType.Stack)
        func.vectorize(n, LANES)
    total.compute_at(out, task)
    added = total.update()
    added.split(m, tile, row, ROWS, guarded).reorder(n, row, tile, over[0]).unroll(row)
    added.vectorize(n, LANES).unroll(n)
    sums.compute_at(total, tile).unroll(n).unroll(m)
    multiplied = sums.update()
    multiplied.reorder(r[0], n, m, r[1]).atomic().vectorize(r[0])
    multiplied.vectorize(n, LANES).unroll(n).unroll(m)

    for packed, tasks in ((left, task), (right, at)):
        packed.compute_root().unroll(side).parallel(tasks)
    # along what is contiguous in memory
    left.vectorize(row if transpose_a else pair, LANES)
    if transpose_b:
        outer, inner = hl.Var("outer"), hl.Var("inner")
        right.split(pair, outer, inner, LANES).reorder(side, inner, n, outer, at).vectorize(inner)
    else:
        right.vectorize(n, LANES)
    return [left, right, out]


def _packed(
    x: hl.ImageParam, k: hl.Expr, other: hl.Expr | hl.Var, depth: hl.Expr, size: hl.Expr, transposed: bool
) -> hl.Expr:
    """x[k, other] in bfloat16; 0 behind the end of k, so that what is multiplied with it does not count."""
    at = hl.min(k, depth - 1), hl.min(other, size - 1)
    value = hl.select(k < depth, x[at[::-1] if transposed else at], hl.f32(0))
    bits = hl.reinterpret(hl.UInt(32), value)
    up = bits + (((bits >> 16) & 1) + hl.u32(0x7FFF))
    upper = hl.select(nan.is_nan(value), bits | hl.u32(0x400000), up) >> 16
    return hl.cast(hl.UInt(16), upper)


def _wide(x: hl.Expr) -> hl.Expr:
    return hl.cast(hl.Float(32), hl.reinterpret(hl.BFloat(16), x))
