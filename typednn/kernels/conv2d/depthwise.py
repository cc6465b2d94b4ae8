"""Depthwise convolution in Halide: each output channel reads one input channel. Forward, dx and dweight at any stride.

Lanes lie along the output channels. All taps of a window are one expression, and the zeros around the image are a
condition that Halide takes out of the inner loops, so nothing is copied and each array is read from memory once.
Channel o of y reads channel o // multiplier of x.

Halide's axes run backwards: channels c, columns x, rows y, images n. Of a window: k across, l down.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from typednn.engines import Cpu, hl
from typednn.kernels.activations import Activation
from typednn.kernels.conv2d.direct import parallel
from typednn.kernels.conv2d.dweight import Batch, Images, type_of_part
from typednn.kernels.conv2d.geometry import Geometry, power
from typednn.kernels.conv2d.images import Derivative

TAPS = 49  # the largest window that is one expression
_COLUMNS = 4  # that are computed together, and share the pixels that they read


class _Tap(NamedTuple):
    """One weight of a window: its place, and how far it lies from the window's first pixel, with the
    padding taken off.
    """

    k: int
    l: int  # noqa: E741
    across: int
    down: int


def _taps(geometry: Geometry) -> Iterator[_Tap]:
    (down, across), (left, _, top, _) = geometry.window.dilation, geometry.window.padding
    for l in range(geometry.kernel_size[0]):  # noqa: E741
        for k in range(geometry.kernel_size[1]):
            yield _Tap(k, l, k * across - left, l * down - top)


def _inside(column: hl.Expr, row: hl.Expr, size: tuple[int, int]) -> hl.Expr:
    return (column >= 0) & (column < size[1]) & (row >= 0) & (row < size[0])


def _within(place: hl.Expr, size: int) -> hl.Expr:
    """A place of the image; "likely" has Halide take the conditions out of the inner loops where they hold."""
    return hl.clamp(hl.likely(place), 0, size - 1)


def _pixel(
    x: hl.ImageParam, geometry: Geometry, channel: hl.Expr, column: hl.Expr, row: hl.Expr, n: hl.Expr
) -> hl.Expr:
    """A number of x; 0 around the image."""
    height, width = geometry.size
    channel /= geometry.out_channels // geometry.in_channels
    if not any(geometry.window.padding):
        return x[channel, column, row, n]
    pixel = x[channel, _within(column, width), _within(row, height), n]
    return hl.select(_inside(column, row, geometry.size), hl.likely(pixel), 0)


def build_forward(
    cpu: Cpu,
    x: hl.ImageParam,
    weight: hl.ImageParam,
    bias: hl.ImageParam | None = None,
    *,
    geometry: Geometry,
    activation: Activation,
) -> hl.Func:
    """y[c, x, y, n] = act(bias[c] + Σ_kl x[c / multiplier, x·stride + k·dilation, y·stride + l·dilation, n] weight[0,
    k, l, c]).
    """
    c, column, row, n = (hl.Var(name) for name in "cxyn")
    down, across = geometry.window.stride
    products = [
        _pixel(x, geometry, c, column * across + tap.across, row * down + tap.down, n) * weight[0, tap.k, tap.l, c]
        for tap in _taps(geometry)
    ]
    first, *others = products if bias is None else [bias[c], *products]
    y = hl.Func("y")
    y[c, column, row, n] = activation.expression(sum(others, first))
    _schedule(cpu, y, geometry.out(), geometry.out_channels, geometry, (1, _COLUMNS))
    return y


def build_dx(
    cpu: Cpu,
    dy: hl.ImageParam,
    weight: hl.ImageParam,
    *kept: hl.ImageParam,
    geometry: Geometry,
    activation: Activation,
) -> hl.Func:
    """dx[c, x, y, n]: the sum of dz times the weight over all windows that contain the pixel, and over the channels
    made of c.
    """
    derivative = Derivative(dy, kept, geometry, activation)
    c, column, row, n = (hl.Var(name) for name in "cxyn")
    (down, across), (height, width) = geometry.window.stride, geometry.out()
    multiplier = geometry.out_channels // geometry.in_channels
    terms: list[hl.Expr] = []
    for tap in _taps(geometry):
        left, above = column - tap.across, row - tap.down
        window = left / across, above / down
        place = _within(window[0], width), _within(window[1], height), n
        met = (left % across == 0) & (above % down == 0)
        for each in range(multiplier):
            channel = c * multiplier + each
            product = derivative.vjp(channel, *place) * weight[0, tap.k, tap.l, channel]
            # Not 0 times the weight, which may be infinite.
            terms.append(hl.select(met & _inside(*window, geometry.out()), hl.likely(product), 0))
    dx = hl.Func("dx")
    dx[c, column, row, n] = sum(terms[1:], terms[0])
    # Strides divide the tile, so that which taps meet a pixel is known when the kernel is made.
    _schedule(cpu, dx, geometry.size, geometry.in_channels, geometry, (down, across * -(-_COLUMNS // across)))
    return dx


def _schedule(
    cpu: Cpu, out: hl.Func, size: tuple[int, int], channels: int, geometry: Geometry, tile: tuple[int, int]
) -> None:
    c, column, row, n = out.args()
    xo, yo, guard = hl.Var("xo"), hl.Var("yo"), hl.TailStrategy.GuardWithIf
    rows, columns = tile
    out.bound(c, 0, channels).bound(column, 0, size[1]).bound(row, 0, size[0])
    out.split(column, xo, column, columns, guard).split(row, yo, row, rows, guard)
    out.reorder(column, row, c, xo, yo, n).vectorize(c, min(cpu.lanes, power(channels)), guard).unroll(column).unroll(
        row
    )
    parallel(out, n, 8 * geometry.flops())  # reading and writing takes longer than computing


def _of_part(parts: hl.Func, c: hl.Var, number: int, part: int) -> hl.Expr:
    return parts[c, part][number]


def build_dweight(
    cpu: Cpu,
    x: hl.ImageParam,
    dy: hl.ImageParam,
    *kept: hl.ImageParam,
    geometry: Geometry,
    activation: Activation,
    images: Images,
    biased: bool,
) -> list[hl.Func]:
    """dweight[0, k, l, c] = Σ_xyn dz[c, x, y, n] x[c / multiplier, x·stride + k·dilation, y·stride + l·dilation, n].

    If ``biased``, dbias = Σ dz as well.
    """
    derivative = Derivative(dy, kept, geometry, activation)
    (height, width), (down, across), channels = geometry.out(), geometry.window.stride, geometry.out_channels
    taps = list(_taps(geometry))
    c, t, row, n, p, o = (hl.Var(name) for name in ("c", "t", "y", "n", "p", "o"))
    r, k, l = (hl.Var(name) for name in "rkl")  # noqa: E741
    lanes, guard, kernel_width = min(cpu.lanes, power(channels)), hl.TailStrategy.GuardWithIf, geometry.kernel_size[1]
    batch = Batch(x.dim(3).extent(), geometry, "few" if images == "single" else images, p)
    columns, of_part = hl.RDom([(0, width)]), batch.images((0, height))
    rows, parts, total, dweight, dbias = (hl.Func(name) for name in ("rows", "parts", "total", "dweight", "dbias"))

    def factor(tap: _Tap) -> hl.Expr:
        return _pixel(x, geometry, c, columns * across + tap.across, row * down + tap.down, n)

    factors = [factor(tap) for tap in taps] + [hl.cast(x.type(), 1)] * (
        biased or len(taps) == 1
    )  # the last sum is dbias; Halide has no Tuple of one
    dz = derivative.vjp(c, columns, row, n)
    rows[c, row, n] = hl.Tuple([hl.cast(x.type(), 0)] * len(factors))
    before = rows[c, row, n]
    rows[c, row, n] = hl.Tuple([before[number] + dz * each for number, each in enumerate(factors)])
    of_row = rows[c, of_part.x, batch.number(of_part.y)]
    parts[c, p] = hl.Tuple([hl.cast(type_of_part(x, images), 0)] * len(factors))
    part = parts[c, p]
    parts[c, p] = hl.Tuple(
        [part[number] + hl.cast(type_of_part(x, images), of_row[number]) for number in range(len(factors))]
    )
    sums = [batch.total(partial(_of_part, parts, c, number)) for number in range(len(factors))]
    total[c, t] = hl.cast(x.type(), hl.mux(t, sums))
    dweight[r, k, l, c] = total[c, l * kernel_width + k]

    total.compute_root().bound(t, 0, len(factors)).bound(c, 0, channels).vectorize(c, lanes, guard).unroll(t)
    parts.compute_root().vectorize(c, lanes, guard)
    update = parts.update().split(c, o, c, lanes, guard).reorder(c, o, of_part.x, of_part.y, p).vectorize(c)
    batch.parallel(update, 8 * geometry.flops())
    rows.compute_at(parts, o).store_in(hl.MemoryType.Stack).vectorize(c, lanes, guard)
    rows.update().reorder(c, columns.x).vectorize(c, lanes, guard)
    if not biased:
        return [dweight]
    dbias[c] = total[c, len(taps)]
    return [dweight, dbias]
