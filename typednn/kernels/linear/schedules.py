"""The schedules of linear's kernels. Axes run backwards: the last one of NumPy first.

``rows`` puts a vector's lanes along a sum: for few rows, or few outputs. ``tiles`` copies the weights once, transposed,
and keeps a tile of sums in registers: for many rows. ``backward`` computes all derivatives in one call, in such tiles.
An activation is applied to sums before they are stored, and backward takes dz from y before anything else. Every sum
runs over its terms in a fixed order, whatever the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from typednn.engines import Cpu, hl, type_of
from typednn.kernels import sums
from typednn.kernels.activations import Activation

PARALLEL = 1 << 21  # multiplications from which a second thread pays: waking it takes some microseconds
NUMBERS = 1 << 16  # numbers of one elementwise pass from which a second thread pays
WEIGHTS = 1 << 18  # weights from which it pays for a single row, as reading them takes the time
TASK = 1 << 15  # weights of a task, at least, where each is read once


class Numbers(Protocol):
    """What is read by place: an array, what a Func computes, or weights that are widened as they are read."""

    def __getitem__(self, at: tuple[hl.Expr | int, ...], /) -> hl.Expr: ...


def rows(
    cpu: Cpu,
    x: hl.ImageParam,
    weight: hl.ImageParam,
    *bias: hl.ImageParam,
    in_features: int,
    out_features: int,
    activation: Activation,
    few: bool,
) -> hl.Func:
    """y[o, b] = activation(bias[o] + Σ_i x[i, b]·weight[i, o]): lanes over i; ``few``: for up to some rows."""
    size = in_features * out_features
    streamed = few and size >= WEIGHTS
    y, outer, b = row_products(cpu, "y", x, weight, bias, in_features, out_features, activation, streamed=streamed)
    if streamed:
        return in_tasks(y, outer, b, in_features, 1, True)
    y.specialize(x.dim(1).extent() >= max(8, PARALLEL // size)).parallel(b, 8, hl.TailStrategy.GuardWithIf)
    return y


def row_products(
    cpu: Cpu,
    name: str,
    x: Numbers,
    weight: Numbers,
    bias: Sequence[hl.ImageParam],
    in_features: int,
    out_features: int,
    activation: Activation,
    scale: Sequence[hl.ImageParam] = (),
    streamed: bool = False,
) -> tuple[hl.Func, hl.Var, hl.Var]:
    """y, and its loops over groups of outputs and over rows; ``scale`` multiplies each output's products.

    ``streamed``: one output after another, four vectors side by side, so that weights which come from memory are read
    in the order in which they lie. Two threads read 56 GB/s so, of 58 that a sum reads, but 40 with eight outputs at a
    time and 27 with two. Else some outputs at a time, which need x less often. Where in_features is no multiple of the
    lanes, the first vector is the last whole one, without the numbers that other vectors cover.
    """
    lane, o, b, outer = hl.Var("lane"), hl.Var("o"), hl.Var("b"), hl.Var("outer")
    lanes = _fitting((4 if streamed else 1) * cpu.lanes, in_features)
    vectors, rest = divmod(in_features, lanes)
    y, stack = hl.Func(name), hl.MemoryType.Stack

    def product(at: hl.Expr | int) -> hl.Expr:
        return x[at, b] * weight[at, o]

    start = hl.select(lane >= lanes - rest, product(in_features - lanes + lane), 0) if rest else product(lane)
    first = 0 if rest else 1
    steps = vectors - first
    products = sums.total(
        f"{name}_sums", (lane, o, b), start, lambda k: product(lane + lanes * (k + first)), steps, steps <= sums.FEW
    )
    running, totals, each = hl.Func(f"{name}_running"), hl.Func(f"{name}_totals"), hl.RDom([(0, lanes)])
    running[lane, o, b] = products.value
    totals[o, b] = bias[0][o] if bias and not scale else hl.cast(type_of(x[0, 0]), 0)
    totals[o, b] += running[each.x, o, b]
    scaled = totals[o, b] * scale[0][o] if scale else totals[o, b]
    y[o, b] = activation.expression(scaled + bias[0][o] if bias and scale else scaled)

    y.split(o, outer, o, 1 if streamed else outputs_at_a_time(cpu, out_features), hl.TailStrategy.ShiftInwards).reorder(
        o, outer, b
    )
    if activation.uses_exp:
        y.vectorize(o)
    else:
        y.unroll(o)
    totals.compute_at(y, outer).store_in(stack).unroll(o)
    totals.update().atomic().vectorize(each.x, lanes).unroll(o)
    running.compute_at(y, outer).store_in(stack).vectorize(lane, lanes).unroll(o)
    products.schedule(y, outer, (lane, o), lambda stage: stage.vectorize(lane, lanes).unroll(o))
    return y, outer, b


def outputs_at_a_time(cpu: Cpu, out_features: int) -> int:
    """Of `row_products` that are not ``streamed``: their sums take a quarter of the registers."""
    return min(cpu.registers // 4, out_features)


def in_tasks(
    y: hl.Func, outer: hl.Var, b: hl.Var, in_features: int, outputs: int, parallel: hl.Expr | Literal[True]
) -> hl.Func:
    """`row_products` of so many ``outputs`` at a time, in tasks for threads, where ``parallel``: each uses its weights
    for every row.
    """
    chunk, each = hl.Var("chunk"), max(1, TASK // (in_features * outputs))
    y.split(outer, chunk, outer, each, hl.TailStrategy.GuardWithIf).reorder(outer, b, chunk)
    (y if parallel is True else y.specialize(parallel)).parallel(chunk)
    return y


def tiles(
    cpu: Cpu,
    x: hl.ImageParam,
    weight: hl.ImageParam,
    *bias: hl.ImageParam,
    in_features: int,
    out_features: int,
    activation: Activation,
) -> hl.Func:
    """y[o, b] = activation(bias[o] + Σ_i x[i, b]·packed[o, i]), where packed is weight with its axes exchanged."""
    o, i, inner_o, inner_i, packed = hl.Var("o"), hl.Var("i"), hl.Var("oi"), hl.Var("ii"), hl.Func("packed")
    packed[o, i] = weight[i, o]
    y = tiled_product(
        cpu,
        "y",
        lambda n, k: x[k, n],
        lambda k, c: packed[c, k],
        in_features,
        in_features <= sums.FEW,
        out_features,
        bias=bias,
        end=lambda sum: activation.expression(sum),
    )
    many_rows = x.dim(1).extent() >= max(16, PARALLEL // (in_features * out_features))
    y.specialize(many_rows).parallel(hl.Var("outer_n"))
    # Blocks of 8x16, not 16x16: as fast or faster, and LLVM takes 0.45 s less for a kernel.
    along, across, inwards = (
        _fitting(min(8, cpu.lanes), in_features),
        _fitting(cpu.lanes, out_features),
        hl.TailStrategy.ShiftInwards,
    )
    packed.compute_root().split(o, o, inner_o, across, inwards).split(i, i, inner_i, along, inwards)
    packed.reorder(inner_i, inner_o, i, o).vectorize(inner_i).unroll(inner_o).specialize(many_rows).parallel(o)
    return y


def backward(
    cpu: Cpu,
    dy: hl.ImageParam,
    *others: hl.ImageParam,
    in_features: int,
    out_features: int,
    activation: Activation,
    wants_input: bool,
    few: bool,
) -> list[hl.Func]:
    """dx[i, b] = Σ_o dz[o, b]·weight[i, o] if wanted, dweight[i, o] = Σ_b dz[o, b]·x[i, b], dbias[o] = Σ_b dz[o, b].

    ``others`` are y, unless the activation is none, x, and weight where dx is wanted. ``few``: for up to `sums.FEW`
    rows.
    """
    y = None if activation.name == "identity" else others[0]
    x, *weight = others if y is None else others[1:]
    batch, size = x.dim(1).extent(), in_features * out_features
    if not wants_input and in_features < cpu.registers * 3 // 4:
        return _narrow_backward(cpu, dy, y, x, batch, few, in_features, out_features, activation)
    dz: Numbers = dy if y is None else _masked(cpu, dy, y, batch, out_features, activation)
    dweight = tiled_product(
        cpu, "dweight", lambda n, k: dz[n, k], lambda k, c: x[c, k], batch, few, in_features, out_features
    )
    dweight.specialize(batch >= max(1, PARALLEL // size)).parallel(hl.Var("outer_n"))
    outputs = [dweight, column_sums(cpu, dz, batch, few, out_features)]
    if wants_input:
        short = out_features <= sums.FEW
        dx = tiled_product(
            cpu, "dx", lambda n, k: dz[k, n], lambda k, c: weight[0][c, k], out_features, short, in_features
        )
        dx.specialize(batch >= max(16, PARALLEL // size)).parallel(hl.Var("outer_n"))
        outputs.insert(0, dx)
    return outputs


def _narrow_backward(
    cpu: Cpu,
    dy: hl.ImageParam,
    y: hl.ImageParam | None,
    x: hl.ImageParam,
    batch: hl.Expr,
    few: bool,
    in_features: int,
    out_features: int,
    activation: Activation,
) -> list[hl.Func]:
    """dweight and dbias where in_features sums of a vector of outputs fit in registers: dz is needed once, and never
    stored.

    Lanes are over o. The bias is one more input, which is always 1.
    """
    o, i, outer, inner = hl.Var("o"), hl.Var("i"), hl.Var("outer"), hl.Var("inner")
    both, dweight, dbias = (hl.Func(name) for name in ("both", "dweight", "dbias"))

    def product(b: hl.Expr) -> hl.Expr:
        dz = dy[o, b] if y is None else activation.gradient_expression(dy[o, b], y[o, b])
        return dz * hl.select(i == in_features, 1, x[hl.min(i, in_features - 1), b])

    products = sums.total("running", (o, i), hl.cast(type_of(x[0, 0]), 0), product, batch, few)
    both[o, i] = products.value
    dweight[i, o] = both[o, i]
    dbias[o] = both[o, in_features]

    lanes = _fitting(cpu.lanes, out_features)
    both.compute_root().bound(i, 0, in_features + 1).split(o, outer, o, lanes, hl.TailStrategy.ShiftInwards)
    both.reorder(o, i, outer).vectorize(o).unroll(i)
    both.specialize(batch >= max(1, PARALLEL // (in_features * out_features))).parallel(outer)
    products.schedule(both, outer, (o, i), lambda stage: stage.vectorize(o, lanes).unroll(i))
    dweight.split(o, outer, inner, lanes, hl.TailStrategy.ShiftInwards).reorder(inner, i, outer).vectorize(inner)
    dbias.vectorize(o, lanes, hl.TailStrategy.ShiftInwards)
    return [dweight, dbias]


def finished(cpu: Cpu, z: hl.ImageParam, *bias: hl.ImageParam, out_features: int, activation: Activation) -> hl.Func:
    """y[o, b] = activation(z[o, b] + bias[o]), written over z: after a matrix product by BLAS."""
    o, b, y = hl.Var("o"), hl.Var("b"), hl.Func("y")
    y[o, b] = activation.expression(z[o, b] + bias[0][o] if bias else z[o, b])
    # Guarded: a vector that overlaps the one before would read numbers already written.
    y.vectorize(o, _fitting(cpu.lanes, out_features), hl.TailStrategy.GuardWithIf)
    return _by_rows(y, b, z.dim(1).extent(), out_features)


def bias_activation_backward(
    cpu: Cpu, dy: hl.ImageParam, *y: hl.ImageParam, out_features: int, activation: Activation
) -> list[hl.Func]:
    """dz[o, b], where there is an activation, and dbias[o] = Σ_b dz[o, b]: before the matrix products by BLAS."""
    batch = dy.dim(1).extent()
    if not y:
        return [column_sums(cpu, dy, batch, False, out_features)]
    dz = _masked(cpu, dy, y[0], batch, out_features, activation)
    return [dz, column_sums(cpu, dz, batch, False, out_features)]


def _masked(
    cpu: Cpu, dy: hl.ImageParam, y: hl.ImageParam, batch: hl.Expr, out_features: int, activation: Activation
) -> hl.Func:
    """dz[o, b], computed before anything that reads it."""
    o, b, dz = hl.Var("o"), hl.Var("b"), hl.Func("dz")
    dz[o, b] = activation.gradient_expression(dy[o, b], y[o, b])
    dz.compute_root().vectorize(o, _fitting(cpu.lanes, out_features), hl.TailStrategy.ShiftInwards)
    return _by_rows(dz, b, batch, out_features)


def column_sums(cpu: Cpu, dz: Numbers, batch: hl.Expr, few: bool, out_features: int) -> hl.Func:
    """dbias[o] = Σ_b dz[o, b]: whole rows of vectors at a time."""
    lanes, vectors, _ = _tile(cpu, out_features)
    o, outer, dbias = hl.Var("o"), hl.Var("outer"), hl.Func("dbias")
    column = sums.total("dbias_sums", (o,), hl.cast(type_of(dz[o, 0]), 0), lambda b: dz[o, b], batch, few)
    dbias[o] = column.value
    dbias.split(o, outer, o, lanes * vectors, hl.TailStrategy.ShiftInwards).vectorize(o, lanes).unroll(o)
    column.schedule(dbias, outer, (o,), lambda stage: stage.vectorize(o, lanes).unroll(o))
    dbias.specialize(batch >= max(16, NUMBERS // out_features)).parallel(outer)
    return dbias


def _by_rows(out: hl.Func, b: hl.Var, batch: hl.Expr, features: int) -> hl.Func:
    """Some rows of an elementwise Func for each thread, where there are many numbers."""
    rows, piece = max(1, NUMBERS // 4 // features), hl.Var("piece")
    out.specialize(batch >= 4 * rows).split(b, piece, b, rows, hl.TailStrategy.GuardWithIf).parallel(piece)
    return out


def tiled_product(
    cpu: Cpu,
    name: str,
    left: Callable[[hl.Expr, hl.Expr | int], hl.Expr],
    right: Callable[[hl.Expr, hl.Expr], hl.Expr],
    depth: hl.Expr | int,
    few: bool,
    columns: int,
    rows: int | None = None,
    bias: Sequence[hl.ImageParam] = (),
    end: Callable[[hl.Expr], hl.Expr] = lambda sum: sum,
) -> hl.Func:
    """out[c, n] = end(bias[c] + Σ_k left(n, k)·right(k, c)): lanes over c, a tile of sums in registers; ``rows`` where
    they are known.
    """
    c, n, outer_c, outer_n, out = hl.Var("c"), hl.Var("n"), hl.Var("outer_c"), hl.Var("outer_n"), hl.Func(name)
    lanes, vectors, tall = _tile(cpu, columns)
    start = bias[0][c] if bias else hl.cast(type_of(left(n, 0)), 0)
    products = sums.total(f"{name}_sums", (c, n), start, lambda k: left(n, k) * right(k, c), depth, few)
    out[c, n] = end(products.value)
    height, tail = (
        (tall, hl.TailStrategy.GuardWithIf) if rows is None else (min(tall, rows), hl.TailStrategy.ShiftInwards)
    )
    out.split(c, outer_c, c, lanes * vectors, hl.TailStrategy.ShiftInwards).split(n, outer_n, n, height, tail)
    out.reorder(c, n, outer_c, outer_n).vectorize(c, lanes).unroll(c).unroll(n)
    products.schedule(out, outer_c, (c, n), lambda stage: stage.vectorize(c, lanes).unroll(c).unroll(n))
    return out


def _tile(cpu: Cpu, columns: int) -> tuple[int, int, int]:
    """(lanes of a vector, vectors side by side, rows): as few columns as possible are computed twice, where the last
    tile overlaps.
    """
    lanes = _fitting(cpu.lanes, columns)
    widest = min(cpu.registers // 8, columns // lanes)
    vectors = min(range(1, widest + 1), key=lambda count: (-(-columns // (count * lanes)) * count, -count))
    return lanes, vectors, min(12, cpu.registers * 3 // 4 // vectors)


def _fitting(lanes: int, extent: int) -> int:
    """The lanes, a power of two, or the largest one that is not above ``extent``."""
    return min(lanes, 1 << (extent.bit_length() - 1))
