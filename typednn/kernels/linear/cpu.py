"""Linear for NumPy's float32 arrays: Halide where the matrices are small, OpenBLAS where they are large.

y = x weightᵀ + bias       dx = dy weight    dweight = dyᵀ x    dbias = Σ_batch dy

Three kernels. ``rows`` puts a vector's lanes along a sum: for few rows, or few outputs. ``tiles`` copies the weights once, with
the outputs side by side, and keeps a tile of sums in registers: for many rows. ``backward`` computes all three derivatives in one
call, in such tiles. Every sum runs over its terms in a fixed order, whatever the number of threads. OpenBLAS takes over where a
side is longer than `SMALL`: there its copies in cache-sized blocks pay.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from typednn.arrays import Array1, Array2
from typednn.engines import Array, Cpu, Kernel, empty, kernel, record, sgemm
from typednn.engines import cpu as processors

SMALL = 400  # in_features and out_features up to which a whole kernel is quicker than BLAS
FEW_ROWS = 4  # up to here, copying the weights costs more than it saves
PARALLEL = 1 << 20  # multiplications from which a second thread pays: waking it takes as long as some microseconds of work
WEIGHTS = 1 << 18  # weights from which it pays for a single row: reading them is the work

_MOST = 4096

Call = Callable[..., None]

_forwards: dict[tuple[tuple[int, ...], tuple[int, ...], bool], tuple[tuple[int, ...], Call, str]] = {}
_backwards: dict[tuple[tuple[int, ...], tuple[int, ...]], tuple[Call, str]] = {}


def forward(x: Array2, weight: Array2, bias: Array1 | None) -> Array2:
    """y (batch, out_features)."""
    known = _forwards.get((x.shape, weight.shape, bias is None))
    if known is None:
        known = _new_forward(x, weight, bias)
    shape, run, engine = known
    y: Array2 = empty(shape)
    if bias is None:
        run(x, weight, y)
    else:
        run(x, weight, bias, y)
    record("linear.forward", engine)
    return y


def backward(next_grad: Array2, x: Array2, weight: Array2) -> tuple[Array2, Array2, Array1]:
    """(dx, dweight, dbias), shaped like x, weight and bias."""
    known = _backwards.get((x.shape, weight.shape))
    if known is None:
        known = _new_backward(x, weight)
    run, engine = known
    dx: Array2 = empty(x.shape)
    dweight: Array2 = empty(weight.shape)
    dbias: Array1 = empty(weight.shape[:1])
    run(next_grad, x, weight, dx, dweight, dbias)
    record("linear.backward", engine)
    return dx, dweight, dbias


def _new_forward(x: Array2, weight: Array2, bias: Array1 | None) -> tuple[tuple[int, ...], Call, str]:
    batch, (out_features, in_features) = x.shape[0], weight.shape
    lanes = processors.for_schedules(processors.processor()).lanes
    small = max(in_features, out_features) <= SMALL
    run: Call
    if batch == 1 or out_features < lanes or (small and batch <= FEW_ROWS):
        run, engine = _rows(in_features, out_features, bias is not None).own_function(), "halide"
    elif small:
        run, engine = _tiles(in_features, out_features, bias is not None).own_function(), "halide"
    else:
        run, engine = _blas_forward if bias is None else _blas_forward_biased, "blas"
    known = (batch, out_features), run, engine
    if len(_forwards) >= _MOST:
        _forwards.clear()
    _forwards[x.shape, weight.shape, bias is None] = known
    return known


def _new_backward(x: Array2, weight: Array2) -> tuple[Call, str]:
    out_features, in_features = weight.shape
    run: Call
    if x.shape[0] <= FEW_ROWS or max(in_features, out_features) <= SMALL or min(in_features, out_features) <= 16:
        run, engine = _backward(in_features, out_features).own_function(), "halide"
    else:
        run, engine = _blas_backward, "blas"
    if len(_backwards) >= _MOST:
        _backwards.clear()
    _backwards[x.shape, weight.shape] = run, engine
    return run, engine


# ---------------------------------------------------------------------- large: BLAS


def _blas_forward(x: Any, weight: Any, y: Any) -> None:
    sgemm(x, weight, y, transpose_b=True)


def _blas_forward_biased(x: Any, weight: Any, bias: Any, y: Any) -> None:
    y[...] = bias
    sgemm(x, weight, y, transpose_b=True, beta=1.0)


def _blas_backward(next_grad: Any, x: Any, weight: Any, dx: Any, dweight: Any, dbias: Any) -> None:
    sgemm(next_grad, weight, dx)
    sgemm(next_grad, x, dweight, transpose_a=True)
    np.add.reduce(next_grad, axis=0, out=dbias)


# ---------------------------------------------------------------------- small: Halide; axes run backwards


@cache
def _rows(in_features: int, out_features: int, biased: bool) -> Kernel:
    return _forward_kernel("linear.rows", build_rows, in_features, out_features, biased)


@cache
def _tiles(in_features: int, out_features: int, biased: bool) -> Kernel:
    return _forward_kernel("linear.tiles", build_tiles, in_features, out_features, biased)


def _forward_kernel(name: str, build: Callable[..., Any], in_features: int, out_features: int, biased: bool) -> Kernel:
    bias = (Array(out_features),) if biased else ()
    return kernel(
        name,
        build,
        inputs=(Array("batch", in_features), Array(out_features, in_features), *bias),
        outputs=(Array("batch", out_features),),
        options={"in_features": in_features, "out_features": out_features},
    )


@cache
def _backward(in_features: int, out_features: int) -> Kernel:
    x, weight = Array("batch", in_features), Array(out_features, in_features)
    return kernel(
        "linear.backward",
        build_backward,
        inputs=(Array("batch", out_features), x, weight),
        outputs=(x, weight, Array(out_features)),
        options={"in_features": in_features, "out_features": out_features},
    )


def build_rows(hl: Any, cpu: Cpu, x: Any, weight: Any, *bias: Any, in_features: int, out_features: int) -> Any:
    """y[o, b] = bias[o] + Σ_i x[i, b]·weight[i, o]: lanes over i, some outputs at a time.

    Where in_features is no multiple of the lanes, the first vector is the last whole one, with what the others cover left out.
    """
    lane, o, b, outer = hl.Var("lane"), hl.Var("o"), hl.Var("b"), hl.Var("outer")
    lanes = _fitting(cpu.lanes, in_features)
    vectors, rest = divmod(in_features, lanes)
    sums, y, stack = hl.Func("sums"), hl.Func("y"), hl.MemoryType.Stack
    if rest:
        last = in_features - lanes + lane
        sums[lane, o, b] = hl.select(lane >= lanes - rest, x[last, b] * weight[last, o], hl.f32(0))
    else:
        sums[lane, o, b] = x[lane, b] * weight[lane, o]
    first = 0 if rest else 1
    steps = hl.RDom([(first, vectors - first)])
    if vectors > first:
        sums[lane, o, b] += x[lane + lanes * steps.x, b] * weight[lane + lanes * steps.x, o]
    each = hl.RDom([(0, lanes)])
    totals = hl.Func("totals")
    totals[o, b] = bias[0][o] if bias else hl.f32(0)
    totals[o, b] += sums[each.x, o, b]
    y[o, b] = totals[o, b]

    together = min(cpu.registers // 4, out_features)
    y.split(o, outer, o, together, hl.TailStrategy.ShiftInwards).reorder(o, outer, b).unroll(o)
    totals.compute_at(y, outer).store_in(stack).unroll(o)
    totals.update().atomic().vectorize(each.x, lanes).unroll(o)
    sums.compute_at(y, outer).store_in(stack).vectorize(lane, lanes).unroll(o)
    if vectors > first:
        sums.update().reorder(lane, o, steps.x, b).vectorize(lane, lanes).unroll(o)
    batch = x.dim(1).extent()
    if in_features * out_features >= WEIGHTS:
        chunk = hl.Var("chunk")
        y.specialize(batch < 8).split(outer, chunk, outer, 8, hl.TailStrategy.GuardWithIf).parallel(chunk)
    y.specialize(batch >= max(8, PARALLEL // (in_features * out_features))).parallel(b, 8, hl.TailStrategy.GuardWithIf)
    return y


def build_tiles(hl: Any, cpu: Cpu, x: Any, weight: Any, *bias: Any, in_features: int, out_features: int) -> Any:
    """y[o, b] = bias[o] + Σ_i x[i, b]·packed[o, i], where packed is weight with its axes exchanged."""
    o, i, inner_o, inner_i = hl.Var("o"), hl.Var("i"), hl.Var("oi"), hl.Var("ii")
    packed = hl.Func("packed")
    packed[o, i] = weight[i, o]
    y = _product(
        hl,
        cpu,
        "y",
        lambda n, k: x[k, n],
        lambda k, c: packed[c, k],
        lambda c: bias[0][c] if bias else hl.f32(0),
        in_features,
        out_features,
    )
    _parallel_over_batch(hl, y, x.dim(1).extent(), in_features * out_features)
    along, across = _fitting(cpu.lanes, in_features), _fitting(cpu.lanes, out_features)
    packed.compute_root().split(o, o, inner_o, across, hl.TailStrategy.ShiftInwards)
    packed.split(i, i, inner_i, along, hl.TailStrategy.ShiftInwards)
    packed.reorder(inner_i, inner_o, o, i).vectorize(inner_i).unroll(inner_o)
    return y


def build_backward(hl: Any, cpu: Cpu, dy: Any, x: Any, weight: Any, in_features: int, out_features: int) -> Any:
    """dx[i, b] = Σ_o dy[o, b]·weight[i, o], dweight[i, o] = Σ_b dy[o, b]·x[i, b], dbias[o] = Σ_b dy[o, b]."""
    batch = x.dim(1).extent()
    size = in_features * out_features

    def zero(_: Any) -> Any:
        return hl.f32(0)

    dx = _product(hl, cpu, "dx", lambda n, k: dy[k, n], lambda k, c: weight[c, k], zero, out_features, in_features)
    _parallel_over_batch(hl, dx, batch, size)
    dweight = _product(hl, cpu, "dweight", lambda n, k: dy[n, k], lambda k, c: x[c, k], zero, batch, in_features, out_features)
    dweight.specialize(batch >= max(1, PARALLEL // size)).parallel(hl.Var("outer_n"))

    lanes, vectors, _ = _tile(cpu, out_features)
    o, outer = hl.Var("o"), hl.Var("outer")
    rows = hl.RDom([(0, batch)])
    sums, dbias = hl.Func("dbias_sums"), hl.Func("dbias")
    sums[o] = hl.f32(0)
    sums[o] += dy[o, rows.x]
    dbias[o] = sums[o]
    dbias.split(o, outer, o, lanes * vectors, hl.TailStrategy.ShiftInwards).vectorize(o, lanes).unroll(o)
    sums.compute_at(dbias, outer).store_in(hl.MemoryType.Stack).vectorize(o, lanes).unroll(o)
    sums.update().reorder(o, rows.x).vectorize(o, lanes).unroll(o)
    return [dx, dweight, dbias]


def _product(
    hl: Any,
    cpu: Cpu,
    name: str,
    left: Callable[[Any, Any], Any],
    right: Callable[[Any, Any], Any],
    start: Callable[[Any], Any],
    depth: Any,
    columns: int,
    rows: int | None = None,
) -> Any:
    """out[c, n] = start(c) + Σ_k left(n, k)·right(k, c): lanes over c, a tile of sums in registers; ``rows`` where they are known."""
    c, n, outer_c, outer_n = hl.Var("c"), hl.Var("n"), hl.Var("outer_c"), hl.Var("outer_n")
    k = hl.RDom([(0, depth)])
    lanes, vectors, tall = _tile(cpu, columns)
    sums, out = hl.Func(f"{name}_sums"), hl.Func(name)
    sums[c, n] = start(c)
    sums[c, n] += left(n, k.x) * right(k.x, c)
    out[c, n] = sums[c, n]
    out.split(c, outer_c, c, lanes * vectors, hl.TailStrategy.ShiftInwards)
    if rows is None:
        out.split(n, outer_n, n, tall, hl.TailStrategy.GuardWithIf)
    else:
        out.split(n, outer_n, n, min(tall, rows), hl.TailStrategy.ShiftInwards)
    out.reorder(c, n, outer_c, outer_n).vectorize(c, lanes).unroll(c).unroll(n)
    sums.compute_at(out, outer_c).store_in(hl.MemoryType.Stack).vectorize(c, lanes).unroll(c).unroll(n)
    sums.update().reorder(c, n, k.x).vectorize(c, lanes).unroll(c).unroll(n)
    return out


def _parallel_over_batch(hl: Any, out: Any, batch: Any, size: int) -> None:
    out.specialize(batch >= max(16, PARALLEL // size)).parallel(hl.Var("outer_n"))


def _tile(cpu: Cpu, columns: int) -> tuple[int, int, int]:
    """(lanes of a vector, vectors side by side, rows): as few columns as possible are computed twice, where the last tile overlaps."""
    lanes = _fitting(cpu.lanes, columns)
    widest = min(cpu.registers // 8, columns // lanes)
    vectors = min(range(1, widest + 1), key=lambda count: (-(-columns // (count * lanes)) * count, -count))
    return lanes, vectors, min(12, cpu.registers * 3 // 4 // vectors)


def _fitting(lanes: int, extent: int) -> int:
    while lanes > extent:
        lanes //= 2
    return lanes
