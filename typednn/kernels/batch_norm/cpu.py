"""BatchNorm in Halide: two passes over x forward, two over x and dy backward. Lanes run along the channels.

Sums are taken by pieces of `ROWS` rows, whatever the number of threads, and the pieces' in double precision. In forward
a piece adds differences from its own first row, and their squares, in double precision: one pass, which loses no digits
to a large mean. Backward computes the activation's argument again, by forward's own formula, for its sign: reading y
would take longer. The variance is in double precision, as the square of a large float32 is beyond its range.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from typednn.arrays import AnyArray, Array1
from typednn.engines import Array, Build, Cpu, Kernel, Scalar, empty, hl, kernel, nan, specialised, type_of
from typednn.engines.dispatch import FLOAT32
from typednn.kernels.activations import IDENTITY, Activation
from typednn.kernels.elementwise import PARALLEL_FROM

X = TypeVar("X", bound=AnyArray)

ROWS = 128  # of a piece
_TASK = 1 << 14  # numbers of one task, about


class _Rows:
    """How a kernel goes over the rows of ``x``, and over their pieces."""

    def __init__(self, cpu: Cpu, x: hl.ImageParam, channels: int) -> None:
        self.channels, self.lanes = channels, min(cpu.lanes, channels)
        # Channels of a tile: both sums of each stay in registers while a piece is added.
        self.wide = self.lanes * min(4 if cpu.registers >= 32 else 2, channels // self.lanes)
        self.c, self.r, self.p, self.task = (hl.Var(name) for name in ("c", "r", "p", "task"))
        self.count = x.dim(1).extent()
        self.pieces = (self.count + ROWS - 1) / ROWS
        self.several = self.count * channels >= PARALLEL_FROM

    def in_piece(self) -> hl.Expr:
        """How many rows a piece has, in double precision."""
        return hl.cast(hl.Float(64), hl.min(ROWS, self.count - self.p * ROWS))

    def pieces_of(
        self,
        name: str,
        real: hl.Type,
        terms: Callable[[hl.Expr], tuple[hl.Expr, hl.Expr]],
        gives: Callable[[hl.Expr, hl.Expr], list[hl.Expr]],
    ) -> hl.Func:
        """``gives`` of the two sums of ``terms(row)`` over each piece: a Func of channel and piece. The sums are in
        ``real``.
        """
        c, p = self.c, self.p
        running, pieces, row, tile = hl.Func(f"{name}_running"), hl.Func(name), hl.RDom([(0, ROWS)]), hl.Var("tile")
        row.where(p * ROWS + row.x < self.count)
        first, second = terms(hl.unsafe_promise_clamped(p * ROWS + row.x, 0, self.count - 1))
        running[c, p] = hl.Tuple([hl.cast(real, 0), hl.cast(real, 0)])
        running[c, p] = hl.Tuple([running[c, p][0] + first, running[c, p][1] + second])
        pieces[c, p] = hl.Tuple(gives(running[c, p][0], running[c, p][1]))
        pieces.compute_root().split(c, tile, c, self.wide, hl.TailStrategy.ShiftInwards).vectorize(c, self.lanes)
        running.compute_at(pieces, tile).store_in(hl.MemoryType.Stack).vectorize(c, self.lanes).unroll(c)
        running.update().reorder(c, row.x).vectorize(c, self.lanes).unroll(c)
        tasks = max(_TASK // (ROWS * self.channels), 1)
        pieces.specialize(self.several).split(p, self.task, p, tasks, hl.TailStrategy.GuardWithIf).parallel(self.task)
        return pieces

    def total(self, name: str, term: Callable[[hl.Expr], hl.Expr]) -> hl.Func:
        """Σ term(piece), in double precision, for each channel."""
        result, piece = hl.Func(name), hl.RDom([(0, self.pieces)])
        result[self.c] = hl.f64(0)
        result[self.c] += term(piece.x)
        result.compute_root().vectorize(self.c, self.lanes)
        result.update().reorder(self.c, piece.x).vectorize(self.c, self.lanes)
        return result

    def each(self, y: hl.Func) -> hl.Func:
        """The schedule of a Func of channel and row."""
        tile = hl.Var("tile")
        y.split(self.c, tile, self.c, self.wide, hl.TailStrategy.ShiftInwards).vectorize(self.c, self.lanes).unroll(
            self.c
        )
        rows = max(_TASK // self.channels, 1)
        several = y.specialize(self.several).split(self.r, self.task, self.r, rows, hl.TailStrategy.GuardWithIf)
        several.reorder(self.c, self.r, tile, self.task).parallel(self.task)
        return y

    def small(self, *functions: hl.Func) -> None:
        """The schedule of Funcs of a channel."""
        for function in functions:
            function.compute_root().vectorize(self.c, self.lanes, hl.TailStrategy.ShiftInwards)

    def given(self, name: str, value: hl.Expr) -> tuple[hl.Func, hl.Func]:
        """A Func of a channel, and its copy for an output: Halide reads no output, as it takes its own memory to be
        aligned.
        """
        own, output = hl.Func(name), hl.Func(f"{name}_given")
        own[self.c] = value
        output[self.c] = own[self.c]
        self.small(own, output)
        return own, output


def _rate(rows: _Rows, variance: hl.ImageParam | hl.Func, eps: hl.Param) -> hl.Func:
    rate, number = hl.Func("rate"), variance[rows.c]
    rate[rows.c] = hl.cast(eps.type(), 1 / hl.sqrt(number + hl.cast(type_of(number), eps)))
    rows.small(rate)
    return rate


def _scale(rows: _Rows, rate: hl.Func, weight: hl.ImageParam) -> hl.Func:
    scale = hl.Func("scale")
    scale[rows.c] = weight[rows.c] * rate[rows.c]
    rows.small(scale)
    return scale


def _build_infer(
    cpu: Cpu,
    x: hl.ImageParam,
    mean: hl.ImageParam | hl.Func,
    variance: hl.ImageParam | hl.Func,
    weight: hl.ImageParam,
    bias: hl.ImageParam,
    eps: hl.Param,
    channels: int,
    activation: Activation,
) -> hl.Func:
    rows = _Rows(cpu, x, channels)
    c, r, y = rows.c, rows.r, hl.Func("y")
    scale = _scale(rows, _rate(rows, variance, eps), weight)
    y[c, r] = activation.expression((x[c, r] - mean[c]) * scale[c] + bias[c])
    return rows.each(y)


def _build_forward(
    cpu: Cpu,
    x: hl.ImageParam,
    weight: hl.ImageParam,
    bias: hl.ImageParam,
    eps: hl.Param,
    channels: int,
    activation: Activation,
) -> list[hl.Func]:
    rows, real, double = _Rows(cpu, x, channels), x.type(), hl.Float(64)
    c, p = rows.c, rows.p
    count = hl.cast(double, rows.count)

    # Infinity and NaN are no centre: then the sums themselves tell what there was.
    centre, first = hl.Func("centre"), x[c, p * ROWS]
    centre[c, p] = hl.cast(double, hl.select(nan.bits(first) < nan.infinity(first), first, 0))

    def terms(row: hl.Expr) -> tuple[hl.Expr, hl.Expr]:
        difference = hl.cast(double, x[c, row]) - centre[c, p]
        return difference, difference * difference

    def gives(first: hl.Expr, second: hl.Expr) -> list[hl.Expr]:
        number = rows.in_piece()
        return [centre[c, p] + first / number, second - first * first / number]

    pieces = rows.pieces_of("pieces", double, terms, gives)

    def number_in(piece: hl.Expr) -> hl.Expr:
        return hl.cast(double, hl.min(ROWS, rows.count - piece * ROWS))

    summed = rows.total("summed", lambda piece: pieces[c, piece][0] * number_in(piece))

    def spread(piece: hl.Expr) -> hl.Expr:
        apart = pieces[c, piece][0] - summed[c] / count
        return pieces[c, piece][1] + apart * apart * number_in(piece)

    spreads = rows.total("spreads", spread)
    mean, mean_given = rows.given("mean", hl.cast(real, summed[c] / count))
    variance, variance_given = rows.given("variance", spreads[c] / count)
    return [
        _build_infer(cpu, x, mean, variance, weight, bias, eps, channels, activation),
        mean_given,
        variance_given,
    ]


def _build_backward(
    cpu: Cpu,
    next_grad: hl.ImageParam,
    x: hl.ImageParam,
    mean: hl.ImageParam,
    variance: hl.ImageParam,
    weight: hl.ImageParam,
    bias: hl.ImageParam,
    eps: hl.Param,
    channels: int,
    activation: Activation,
) -> list[hl.Func]:
    rows, real, double = _Rows(cpu, x, channels), x.type(), hl.Float(64)
    c, r = rows.c, rows.r
    rate = _rate(rows, variance, eps)
    scale = _scale(rows, rate, weight)

    def dz(row: hl.Expr) -> hl.Expr:
        if activation == IDENTITY:
            return next_grad[c, row]
        # These activations keep the sign, which is all that their slope depends on.
        return activation.gradient_expression(next_grad[c, row], (x[c, row] - mean[c]) * scale[c] + bias[c])

    def terms(row: hl.Expr) -> tuple[hl.Expr, hl.Expr]:
        return dz(row), dz(row) * (x[c, row] - mean[c])

    pieces = rows.pieces_of("pieces", real, terms, lambda first, second: [first, second])
    by_bias = rows.total("by_bias", lambda piece: hl.cast(double, pieces[c, piece][0]))
    by_weight = rows.total("by_weight", lambda piece: hl.cast(double, pieces[c, piece][1]))
    dbias, dbias_given = rows.given("dbias", hl.cast(real, by_bias[c]))
    dweight, dweight_given = rows.given("dweight", hl.cast(real, by_weight[c] * hl.cast(double, rate[c])))
    # dx = scale·(dz - shared - (x - mean)·slope)
    dx, shared, slope, count = hl.Func("dx"), hl.Func("shared"), hl.Func("slope"), hl.cast(real, rows.count)
    shared[c] = dbias[c] / count
    slope[c] = dweight[c] / count * rate[c]
    rows.small(shared, slope)
    dx[c, r] = scale[c] * (dz(r) - (shared[c] + (x[c, r] - mean[c]) * slope[c]))
    return [rows.each(dx), dweight_given, dbias_given]


class Kernels(NamedTuple):
    """For so many channels, with an activation."""

    forward: Kernel
    infer: Kernel
    backward: Kernel


@specialised("batch_norm")
def kernels(channels: int, activation: Activation, dtype: np.dtype[Any] = FLOAT32) -> Kernels | None:
    """The kernels; None for an activation that takes an exponential, which backward would compute again."""
    if activation.uses_exp:
        return None
    rows, channel, eps = Array("rows", channels), Array(channels), Scalar()
    learnt, spread = Array(channels, parameter=True), Array(channels, dtype="float64")
    options = {"channels": channels, "activation": activation}

    def made(
        name: str,
        build: Build,
        inputs: tuple[Array | Scalar, ...],
        outputs: tuple[Array, ...],
    ) -> Kernel:
        return kernel(f"batch_norm.{name}", build, inputs=inputs, outputs=outputs, options=options, dtype=dtype)

    return Kernels(
        made("forward", _build_forward, (rows, learnt, learnt, eps), (rows, channel, spread)),
        made("infer", _build_infer, (rows, channel, spread, learnt, learnt, eps), (rows,)),
        made("backward", _build_backward, (rows, rows, channel, spread, learnt, learnt, eps), (rows, channel, channel)),
    )


def _affine(x: AnyArray, weight: Array1 | None, bias: Array1 | None) -> tuple[Array1, Array1]:
    """Weight and bias; 1 and 0 without."""
    ones: Array1 = np.ones(x.shape[-1], x.dtype) if weight is None else weight
    zeros: Array1 = np.zeros(x.shape[-1], x.dtype) if bias is None else bias
    return ones, zeros


def plan(x: AnyArray, weight: Array1 | None, bias: Array1 | None, eps: float, activation: Activation) -> Kernels | None:
    """The kernels for these channels; None where there are none."""
    return kernels[x.shape[-1], activation, x.dtype]


def plan_infer(
    x: AnyArray,
    mean: Array1,
    variance: Array1,
    weight: Array1 | None,
    bias: Array1 | None,
    eps: float,
    activation: Activation,
) -> Kernels | None:
    """As `plan`."""
    return kernels[x.shape[-1], activation, x.dtype]


def plan_backward(
    next_grad: AnyArray,
    x: AnyArray,
    mean: Array1,
    variance: Array1,
    weight: Array1 | None,
    bias: Array1 | None,
    eps: float,
    activation: Activation,
) -> Kernels | None:
    """As `plan`."""
    return kernels[x.shape[-1], activation, x.dtype] if next_grad.shape == x.shape else None


def forward(
    planned: Kernels, x: X, weight: Array1 | None, bias: Array1 | None, eps: float, activation: Activation
) -> tuple[X, Array1, Array1]:
    """(y, mean, variance): of the numbers in ``x``."""
    channels = x.shape[-1]
    y: X = empty(x.shape, x.dtype)
    mean: Array1 = empty((channels,), x.dtype)
    variance: Array1 = empty((channels,), np.dtype(np.float64))
    planned.forward.call(
        x.reshape(-1, channels), *_affine(x, weight, bias), eps, y.reshape(-1, channels), mean, variance
    )
    return y, mean, variance


def infer(
    planned: Kernels,
    x: X,
    mean: Array1,
    variance: Array1,
    weight: Array1 | None,
    bias: Array1 | None,
    eps: float,
    activation: Activation,
) -> X:
    """y, with a mean and a variance that are given."""
    y: X = empty(x.shape, x.dtype)
    rows = -1, x.shape[-1]
    planned.infer.call(
        x.reshape(rows), mean, variance.astype(np.float64, copy=False), *_affine(x, weight, bias), eps, y.reshape(rows)
    )
    return y


def backward(
    planned: Kernels,
    next_grad: X,
    x: AnyArray,
    mean: Array1,
    variance: Array1,
    weight: Array1 | None,
    bias: Array1 | None,
    eps: float,
    activation: Activation,
) -> tuple[X, Array1, Array1]:
    """(dx, dweight, dbias)."""
    dx: X = empty(x.shape, x.dtype)
    dweight: Array1 = empty(mean.shape, x.dtype)
    dbias: Array1 = empty(mean.shape, x.dtype)
    rows = -1, x.shape[-1]
    planned.backward.call(
        next_grad.reshape(rows),
        x.reshape(rows),
        mean,
        variance,
        *_affine(x, weight, bias),
        eps,
        dx.reshape(rows),
        dweight,
        dbias,
    )
    return dx, dweight, dbias
