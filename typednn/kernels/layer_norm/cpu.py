"""LayerNorm and RMSNorm in Halide: each row is read once from memory, forward and backward, and thrice from the cache.

Numbers are taken as differences from a first mean, whose rounding the differences' own mean takes away: a large mean
costs no digits. A second pass adds the differences, their squares, and what backward needs of them, while the next row
is on its way from memory. Where the variance is beyond float32's range, a row's numbers are computed again in double
precision. dweight and dbias are sums over pieces of some rows, whatever the number of threads, and the pieces' in
double precision.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np

from typednn.arrays import AnyArray, Array1
from typednn.engines import Array, Cpu, Kernel, Scalar, empty, hl, kernel, nan, specialised
from typednn.engines.dispatch import FLOAT32
from typednn.kernels.softmax.cpu import across, by_rows, total

X = TypeVar("X", bound=AnyArray)

_PIECE = 1 << 15  # numbers of x in a piece of rows, about: with dy and dx they stay in the cache
_AHEAD_FROM = 256  # features: the processor itself fetches shorter rows ahead
_FEW = 256  # vectors of running sums up to which a row is added in one go
_LEAST = 1e-30  # variances of at least so much, eps included, have all their digits in float32


def _by_pairs(terms: list[hl.Expr]) -> hl.Expr:
    """The sum of two or four terms."""
    return terms[0] if len(terms) == 1 else _by_pairs(terms[::2]) + _by_pairs(terms[1::2])


def _times(value: hl.Expr, weight: hl.ImageParam | None, at: hl.Expr | int) -> hl.Expr:
    return value if weight is None else value * weight[at]


def _in_row(of: hl.Func, b: hl.Var, at: hl.Expr | int) -> hl.Expr:
    return of[at, b]


def _sums(
    cpu: Cpu,
    name: str,
    values: Callable[[hl.Expr | int, hl.Expr], list[hl.Expr]],
    features: int,
    func: hl.Func,
    b: hl.Var,
    ahead: tuple[hl.ImageParam, ...] = (),
) -> list[hl.Expr]:
    """The sums over f of values(f, b), in one pass for each row ``b`` of ``func``; meanwhile the next row of ``ahead``
    is fetched.
    """
    number, lane = len(values(0, b)), hl.Var("lane")
    # Running sums of several vectors, in half of the registers.
    lanes = cpu.lanes * (max(min(4, cpu.registers // (2 * number)), 1) if features >= 16 * cpu.lanes else 1)
    full = features // lanes

    def one_of(k: int, at: hl.Expr | int, row: hl.Expr) -> hl.Expr:
        return values(at, row)[k]

    if not 1 < full <= _FEW:
        return [total(cpu, f"{name}_{k}", partial(one_of, k), features, func, b)[b] for k in range(number)]

    def together(each: list[hl.Expr]) -> hl.Expr | hl.Tuple:
        return hl.Tuple(each) if number > 1 else each[0]

    def on_stack(each: hl.Func, width: int) -> hl.Func:
        return each.compute_at(func, b).store_in(hl.MemoryType.Stack).bound(lane, 0, width)

    running, vector = hl.Func(f"{name}_running"), hl.RDom([(1, full - 1)])

    def lane_of(k: int, at: hl.Expr | int) -> hl.Expr:
        return running[at, b][k] if number > 1 else running[at, b]

    running[lane, b] = together(values(lane, b))
    more = values(lane + vector.x * lanes, b)
    running[lane, b] = together([lane_of(k, lane) + term for k, term in enumerate(more)])
    on_stack(running, lanes).vectorize(lane, cpu.lanes).unroll(lane)
    update = running.update().reorder(lane, vector.x).vectorize(lane, cpu.lanes).unroll(lane)
    for each in ahead if features >= _AHEAD_FROM else ():
        # As many steps ahead as a row has: the same place of the next row. Exact types select the overload for inputs.
        update.prefetch(
            each, hl.VarOrRVar(lane), hl.VarOrRVar(vector.x), hl.Expr(full), hl.PrefetchBoundStrategy.NonFaulting
        )
    found: list[hl.Expr] = []
    for k in range(number):
        # Four lanes at a time, in vectors: strict arithmetic would add all of them one after another.
        added: Callable[[hl.Expr | int], hl.Expr]
        width, added = lanes, partial(lane_of, k)
        while width > 4:
            width //= 4
            quarter = hl.Func(f"{name}_{k}_{width}")
            quarter[lane, b] = _by_pairs([added(lane + width * place) for place in range(4)])
            on_stack(quarter, width).vectorize(lane, width)
            added = partial(_in_row, quarter, b)
        result = hl.Func(f"{name}_{k}")
        result[b] = _by_pairs([added(place) for place in range(width)])
        if features % lanes:
            rest = hl.RDom([(full * lanes, features % lanes)])
            result[b] += values(rest.x, b)[k]
            result.update().atomic().vectorize(rest.x, features % lanes)
        found.append(result.compute_at(func, b)[b])
    return found


def _statistics(
    cpu: Cpu,
    x: hl.ImageParam,
    eps: hl.Param,
    features: int,
    centred: bool,
    func: hl.Func,
    b: hl.Var,
    next_grad: hl.ImageParam | None = None,
    weight: hl.ImageParam | None = None,
) -> list[hl.Expr]:
    """Of each row ``b`` of ``func``: the rate, and the mean in two parts if there is one; with ``next_grad`` the means
    of g·h and g.
    """
    size, mean, rest, rate = hl.cast(x.type(), features), hl.Func("mean"), hl.Func("rest"), hl.Func("rate")
    if centred:
        mean[b] = _sums(cpu, "sum", lambda at, row: [x[at, row]], features, func, b)[0] / size
        mean.compute_at(func, b)

    def terms(at: hl.Expr | int, row: hl.Expr) -> list[hl.Expr]:
        moved = hl.strict_float(x[at, row] - mean[row]) if centred else x[at, row]
        factors = [moved] if next_grad is None else [moved, _times(next_grad[at, row], weight, at)]
        return [each * moved for each in factors] + (factors if centred else [])

    ahead = (x,) if next_grad is None else (x, next_grad)
    means = [each / size for each in _sums(cpu, "sums", terms, features, func, b, ahead)]
    products, alone = (means[: len(means) // 2], means[len(means) // 2 :]) if centred else (means, [])
    variance = products[0]
    if centred:
        rest[b] = alone[0]
        rest.compute_at(func, b)
        # Rounding may leave less than 0. The bound is for an infinite variance, where rest² may be infinite too.
        variance = hl.max(variance - hl.min(rest[b] * rest[b], hl.cast(x.type(), hl.f64(1e36))), 0)
        products = [each - rest[b] * by_itself for each, by_itself in zip(products, alone, strict=True)]
    fine, exact = _exact(x, eps, features, mean if centred else None, variance, func, b, next_grad, weight)
    plain = 1 / hl.sqrt(variance + eps)
    rate[b] = plain if exact is None else hl.select(fine, plain, hl.cast(x.type(), exact[b][0]))
    rate.compute_at(func, b)
    found: list[hl.Expr] = [rate[b]]
    if centred:
        found += (
            [mean[b], rest[b]]
            if exact is None
            else _in_two_parts(x.type(), fine, mean[b], rest[b], exact[b][1], func, b)
        )
    for each in products[1:]:
        by_rate = each * rate[b]
        if exact is not None:
            moved = exact[b][2] - (exact[b][3] * hl.cast(hl.Float(64), alone[1]) if centred else 0)
            by_rate = hl.select(fine, by_rate, hl.cast(x.type(), moved * exact[b][0]))
        found.append(by_rate)
    return found + alone[1:]


def _exact(
    x: hl.ImageParam,
    eps: hl.Param,
    features: int,
    mean: hl.Func | None,
    variance: hl.Expr,
    func: hl.Func,
    b: hl.Var,
    next_grad: hl.ImageParam | None,
    weight: hl.ImageParam | None,
) -> tuple[Any, hl.Func | None]:  # Any: an Expr, or None where the second is None, which no checker follows
    """Whether float32 holds the variance of row ``b``; and the row's numbers in double precision, computed only where
    it does not.

    These are the rate, the mean, the mean of g·(x - a centre), and the mean of x - this centre. Of float64 there is
    nothing wider: None.
    """
    if x.type().bits() == 64:
        return None, None
    double, fine, sums, exact = hl.Float(64), hl.Func("fine"), hl.Func("exact_sums"), hl.Func("exact")

    def is_finite(number: hl.Expr) -> hl.Expr:
        return nan.bits(number) < nan.infinity(number)

    fine[b] = is_finite(variance) & (variance + eps > hl.cast(x.type(), hl.f64(_LEAST)))
    fine.compute_at(func, b)
    centre = hl.f64(0) if mean is None else hl.select(is_finite(mean[b]), hl.cast(double, mean[b]), hl.f64(0))
    at = hl.RDom([(0, features)])
    at.where(~fine[b])
    moved = hl.cast(double, x[at.x, b]) - centre
    by_grad = hl.f64(0)
    if next_grad is not None:
        by_grad = hl.cast(double, next_grad[at.x, b])
        by_grad = by_grad if weight is None else by_grad * hl.cast(double, weight[at.x])
    sums[b] = hl.Tuple([hl.f64(0)] * 3)
    sums[b] = hl.Tuple([sums[b][0] + moved, sums[b][1] + moved * moved, sums[b][2] + by_grad * moved])
    sums.compute_at(func, b)
    shift, square, product = (sums[b][part] / hl.cast(double, features) for part in range(3))
    spread = square if mean is None else hl.max(square - shift * shift, hl.f64(0))
    # a loop, so that it has a condition: roots and quotients of each row would take longer than a short row
    once = hl.RDom([(0, 1)])
    once.where(~fine[b])
    rate = 1 / hl.sqrt(spread + hl.cast(double, eps + once.x))
    exact[b] = hl.Tuple([hl.f64(0)] * 4)
    exact[b] = hl.Tuple([rate, centre + shift, product, shift])
    exact.compute_at(func, b)
    return fine[b], exact


def _in_two_parts(
    real: hl.Type, fine: hl.Expr, mean: hl.Expr, rest: hl.Expr, exact: hl.Expr, func: hl.Func, b: hl.Var
) -> list[hl.Expr]:
    """The mean and what its rounding leaves; where they are not ``fine``, of the ``exact`` mean."""
    parts, rounded = hl.Func("mean_in_two_parts"), hl.cast(real, exact)
    left = hl.cast(real, exact - hl.cast(hl.Float(64), rounded))
    parts[b] = hl.Tuple([hl.select(fine, mean, rounded), hl.select(fine, rest, left)])
    parts.compute_at(func, b)
    return [parts[b][0], parts[b][1]]


def _normal(x: hl.Expr, statistics: Sequence[hl.Expr]) -> hl.Expr:
    """h of a number; strictly in this order."""
    if len(statistics) == 1:
        return x * statistics[0]
    rate, mean, rest = statistics
    return hl.strict_float(hl.strict_float(x - mean) - rest) * rate


def _build_forward(
    cpu: Cpu,
    x: hl.ImageParam,
    *numbers: Any,  # weight and bias, where there are, then eps
    features: int,
    centred: bool,
    weighted: bool,
    biased: bool,
) -> hl.Func:
    f, b, y = hl.Var("f"), hl.Var("b"), hl.Func("y")
    statistics = _statistics(cpu, x, numbers[-1], features, centred, y, b)
    h = _times(_normal(x[f, b], statistics), numbers[0] if weighted else None, f)
    y[f, b] = h + numbers[-2][f] if biased else h
    return by_rows(cpu, y, f, b, x.dim(1).extent(), features)


def _build_backward(
    cpu: Cpu,
    next_grad: hl.ImageParam,
    x: hl.ImageParam,
    *numbers: Any,  # the weight, where there is one, then eps
    features: int,
    centred: bool,
    weighted: bool,
) -> list[hl.Func]:
    weight = numbers[0] if weighted else None
    f, b, p, in_piece = hl.Var("f"), hl.Var("b"), hl.Var("p"), hl.Var("in_piece")
    count, double = x.dim(1).extent(), hl.Float(64)
    rows = min(max(_PIECE // features, 4), 128)
    lanes, guard, parts = min(cpu.lanes, features), hl.TailStrategy.GuardWithIf, 3 if centred else 1

    stats, dx = hl.Func("stats"), hl.Func("dx")
    stats[b] = hl.Tuple(_statistics(cpu, x, numbers[-1], features, centred, stats, b, next_grad, weight))

    def normal(row: hl.Expr) -> hl.Expr:
        return _normal(x[f, row], [stats[row][part] for part in range(parts)])

    inner = _times(next_grad[f, b], weight, f) - normal(b) * stats[b][parts]
    dx[f, b] = (inner - stats[b][parts + 1] if centred else inner) * stats[b][0]

    running, pieces, row = hl.Func("running"), hl.Func("pieces"), hl.RDom([(0, rows)])
    row.where(p * rows + row.x < count)
    at = hl.unsafe_promise_clamped(p * rows + row.x, 0, count - 1)
    zero = hl.cast(x.type(), 0)
    running[f, p] = hl.Tuple([zero, zero])
    running[f, p] = hl.Tuple([running[f, p][0] + next_grad[f, at] * normal(at), running[f, p][1] + next_grad[f, at]])
    pieces[f, p] = hl.Tuple([running[f, p][0], running[f, p][1]])

    # One loop over pieces computes the rows' numbers, then the sums over rows in registers, then dx, while the piece is
    # in the cache.
    wide, tile = lanes * min(4 if cpu.registers >= 32 else 2, features // lanes), hl.Var("tile")
    pieces.compute_root().split(f, tile, f, wide, hl.TailStrategy.ShiftInwards).vectorize(f, lanes).parallel(p)
    running.compute_at(pieces, tile).store_in(hl.MemoryType.Stack).vectorize(f, lanes).unroll(f)
    running.update().reorder(f, row.x).vectorize(f, lanes).unroll(f)
    across(cpu, dx.split(b, p, in_piece, rows, guard), f, features).parallel(p)
    dx.compute_with(pieces, p)
    stats.compute_at(pieces, p)

    def over_pieces(name: str, place: int) -> hl.Func:
        summed, given, piece = hl.Func(f"{name}_summed"), hl.Func(name), hl.RDom([(0, (count + rows - 1) / rows)])
        summed[f] = hl.f64(0)
        summed[f] += hl.cast(double, pieces[f, piece.x][place])
        across(cpu, summed.compute_root(), f, features)
        summed.update().reorder(f, piece.x).vectorize(f, lanes, guard)
        given[f] = hl.cast(x.type(), summed[f])
        return across(cpu, given.compute_root(), f, features)

    return [dx, over_pieces("dweight", 0), over_pieces("dbias", 1)]


@specialised("layer_norm.forward")
def _forward(features: int, centred: bool, weighted: bool, biased: bool, dtype: np.dtype[Any] = FLOAT32) -> Kernel:
    rows, learnt = Array("rows", features), Array(features, parameter=True)
    inputs: tuple[Array | Scalar, ...] = (rows, *[learnt] * (weighted + biased), Scalar())
    options = {"features": features, "centred": centred, "weighted": weighted, "biased": biased}
    return kernel("layer_norm.forward", _build_forward, inputs=inputs, outputs=(rows,), options=options, dtype=dtype)


@specialised("layer_norm.backward")
def _backward(features: int, centred: bool, weighted: bool, dtype: np.dtype[Any] = FLOAT32) -> Kernel:
    rows, of_features = Array("rows", features), Array(features)
    inputs: tuple[Array | Scalar, ...] = (rows, rows, *[Array(features, parameter=True)] * weighted, Scalar())
    options = {"features": features, "centred": centred, "weighted": weighted}
    outputs = rows, of_features, of_features
    return kernel("layer_norm.backward", _build_backward, inputs=inputs, outputs=outputs, options=options, dtype=dtype)


def plan(x: AnyArray, weight: Array1 | None, bias: Array1 | None, eps: float, centred: bool) -> Kernel | None:
    """The kernel for these rows; None where there is none."""
    return _forward[x.shape[-1], centred, weight is not None, bias is not None, x.dtype]


def plan_backward(next_grad: AnyArray, x: AnyArray, weight: Array1 | None, eps: float, centred: bool) -> Kernel | None:
    """As `plan`."""
    return _backward[x.shape[-1], centred, weight is not None, x.dtype] if next_grad.shape == x.shape else None


def forward(planned: Kernel, x: X, weight: Array1 | None, bias: Array1 | None, eps: float, centred: bool) -> X:
    """y, shaped like x."""
    rows = -1, x.shape[-1]
    y: X = empty(x.shape, x.dtype)
    planned.call(x.reshape(rows), *_there(weight, bias), eps, y.reshape(rows))
    return y


def backward(
    planned: Kernel, next_grad: X, x: AnyArray, weight: Array1 | None, eps: float, centred: bool
) -> tuple[X, Array1, Array1]:
    """(dx, dweight, dbias)."""
    rows, features = (-1, x.shape[-1]), x.shape[-1]
    dx: X = empty(x.shape, x.dtype)
    dweight: Array1 = empty((features,), x.dtype)
    dbias: Array1 = empty((features,), x.dtype)
    planned.call(next_grad.reshape(rows), x.reshape(rows), *_there(weight), eps, dx.reshape(rows), dweight, dbias)
    return dx, dweight, dbias


def _there(*parameters: Array1 | None) -> list[Array1]:
    return [each for each in parameters if each is not None]
