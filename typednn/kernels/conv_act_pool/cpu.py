"""Convolution, ReLU and 2x2 max pooling as three Halide kernels: forward, the derivative by weight and bias, the one by the input.

Rows are read flat: a row of ``width`` pixels of ``channels`` numbers is ``f = channels·column + channel``, and the row of a kernel's
weights ``t = channels·k + channel`` meets the pixels from column j on at ``f = channels·j + t``.

forward     few output channels: lanes lie along the pooled row. The padded image is split into its even and odd columns, so that the
            largest of four is taken lane by lane and every load is contiguous.
            Otherwise: lanes are output channels, and pixels are broadcast.
dweight     the same two. A fixed number of partial sums over the images: the result does not depend on the threads.
dx          lanes are ``t``: each output row is a sum of overlapping rows of kernels, added up on the stack.

Between pooling and convolution lies D, the derivative by the convolution's output, zero but at the winners: made per image, on the stack.
Pixels that no window meets are not read (the reference multiplies them by 0, and so lets their NaN into dweight).
All accumulators stay in registers. Measured: the multiplications with D's zeros cost less than stepping around them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from typednn.engines import Array, Cpu, Kernel, empty, kernel, nan, record, toolchain
from typednn.kernels.conv_act_pool.geometry import Geometry

PARTS = 8  # partial sums over the images of a batch
STACK = 160 * 1024  # bytes that each of one image's stages may take on a thread's stack
WEIGHTS = 1 << 16
DEAD = 4  # winners are 0 to 3, row by row; this one won nothing


@dataclass(frozen=True, slots=True, eq=False)
class Sizes:
    """Everything that is constant in a kernel. ``rows`` and ``columns`` are those of the pooled image. Made by `sizes_of` alone, once."""

    height: int
    width: int
    channels: int
    filters: int
    kernel_height: int
    kernel_width: int
    left: int
    top: int
    rows: int
    columns: int

    @property
    def taps(self) -> int:
        return self.kernel_width * self.channels

    @property
    def padded_height(self) -> int:
        """The rows of the padded image that some window meets."""
        return 2 * self.rows + self.kernel_height - 1

    @property
    def padded_width(self) -> int:
        return 2 * self.columns + self.kernel_width - 1

    @property
    def pads(self) -> bool:
        return self.left > 0 or self.top > 0 or self.padded_height > self.height or self.padded_width > self.width


@cache
def sizes_of(image: tuple[int, ...], weight: tuple[int, ...], geometry: Geometry) -> Sizes | None:
    """The sizes of an image and a bank of kernels that these kernels compute; None for others."""
    ones, twos = (1, 1), (2, 2)
    windows = (geometry.stride, geometry.dilation, geometry.pool_size, geometry.pool_stride, geometry.pool_dilation)
    if windows != (ones, ones, twos, twos, ones):
        return None
    height, width, channels = image
    filters, kernel_height, kernel_width, _ = weight
    out_height, out_width = geometry.convolved((height, width), (kernel_height, kernel_width))
    left, _, top, _ = geometry.padding
    sizes = Sizes(height, width, channels, filters, kernel_height, kernel_width, left, top, out_height // 2, out_width // 2)
    if sizes.rows < 1 or sizes.columns < 1 or kernel_width > 11 or filters * kernel_height * sizes.taps > WEIGHTS:
        return None
    lanes = toolchain.host().cpu.lanes
    padded = (sizes.padded_height + 1) * (sizes.padded_width + 2 * lanes) * channels
    spread = 4 * sizes.rows * _up(sizes.columns, lanes) * _up(filters, min(lanes, 8))
    return sizes if 4 * max(padded, spread) <= STACK else None


def forward(x: Any, weight: Any, bias: Any, sizes: Sizes) -> tuple[Any, Any]:
    """(y, winners)."""
    shape = (x.shape[0], sizes.rows, sizes.columns, sizes.filters)
    y, winners = empty(shape), empty(shape, _UINT8)
    rows, weights = x.reshape(x.shape[0], sizes.height, -1), weight.reshape(sizes.filters, sizes.kernel_height, -1)
    if bias is None:
        _forward(sizes, False)(rows, weights, y, winners)
    else:
        _forward(sizes, True)(rows, weights, bias, y, winners)
    record("conv_act_pool.forward", "halide")
    return y, winners


def backward(next_grad: Any, x: Any, weight: Any, winners: Any, sizes: Sizes, wants_input: bool) -> tuple[Any, Any, Any]:
    """(dx, dweight, dbias); dx is None unless wanted."""
    batch = x.shape[0]
    dweight, dbias = empty(weight.shape), empty((sizes.filters,))
    rows = (sizes.filters, sizes.kernel_height, sizes.taps)
    next_grad, winners = next_grad.reshape(batch, sizes.rows, -1), winners.reshape(batch, sizes.rows, -1)
    _weights(sizes)(x.reshape(batch, sizes.height, -1), next_grad, winners, dweight.reshape(rows), dbias)
    dx = None
    if wants_input:
        dx = empty(x.shape)
        _input(sizes)(next_grad, winners, weight.reshape(rows), dx.reshape(batch, sizes.height, -1))
    record("conv_act_pool.backward", "halide")
    return dx, dweight, dbias


_UINT8 = np.dtype(np.uint8)


@cache
def _forward(sizes: Sizes, biased: bool) -> Kernel:
    shape = ("batch", sizes.rows, sizes.columns, sizes.filters)
    inputs = (_image(sizes), _bank(sizes), *([Array(sizes.filters)] if biased else []))
    outputs = (Array(*shape), Array(*shape, dtype="uint8"))
    return kernel("conv_act_pool.forward", _build_forward, inputs=inputs, outputs=outputs, options={"sizes": sizes})


@cache
def _weights(sizes: Sizes) -> Kernel:
    inputs = (_image(sizes), *_rows(sizes))
    outputs = (_bank(sizes), Array(sizes.filters))
    return kernel("conv_act_pool.weights", _build_weights, inputs=inputs, outputs=outputs, options={"sizes": sizes})


@cache
def _input(sizes: Sizes) -> Kernel:
    inputs = (*_rows(sizes), _bank(sizes))
    return kernel("conv_act_pool.input", _build_input, inputs=inputs, outputs=(_image(sizes),), options={"sizes": sizes})


def _image(sizes: Sizes) -> Array:
    return Array("batch", sizes.height, sizes.width * sizes.channels)


def _bank(sizes: Sizes) -> Array:
    return Array(sizes.filters, sizes.kernel_height, sizes.taps)


def _rows(sizes: Sizes) -> tuple[Array, Array]:
    """dy and the winners, rows flat: filter c of column p is number filters·p + c."""
    shape = ("batch", sizes.rows, sizes.columns * sizes.filters)
    return Array(*shape), Array(*shape, dtype="uint8")


# ---------------------------------------------------------------------------------------------------- forward


def _build_forward(hl: Any, cpu: Cpu, x: Any, weight: Any, bias: Any = None, *, sizes: Sizes) -> Any:
    if sizes.filters < cpu.lanes:
        return _forward_along_rows(hl, cpu, x, weight, bias, sizes)
    return _forward_along_filters(hl, cpu, x, weight, bias, sizes)


def _forward_along_rows(hl: Any, cpu: Cpu, x: Any, weight: Any, bias: Any, sizes: Sizes) -> Any:
    lanes, guard = cpu.lanes, hl.TailStrategy.GuardWithIf
    p, c, y, n, i, j = (hl.Var(name) for name in ("p", "c", "y", "n", "i", "j"))
    chunk, co, po = hl.Var("chunk"), hl.Var("co"), hl.Var("po")
    halves = _halves(hl, cpu, x, sizes, max(sizes.columns, lanes))
    r = hl.RDom([(0, sizes.kernel_width), (0, sizes.channels), (0, sizes.kernel_height)])
    z = hl.Func("z")
    z[p, j, i, c, y, n] = hl.f32(0) if bias is None else bias[c]
    pixel = halves.split[p + (j + r.x) / 2, (j + r.x) % 2, r.y, 2 * y + i + r.z, n]
    z[p, j, i, c, y, n] += weight[sizes.channels * r.x + r.y, r.z, c] * pixel
    out = hl.Func("pooled")
    out[c, p, y, n] = _largest(hl, [z[p, tap % 2, tap // 2, c, y, n] for tap in range(4)])

    block = _divisor(sizes.filters, (cpu.registers - 4) // 4)
    out.bound(c, 0, sizes.filters).split(c, co, c, block)
    out.split(n, chunk, n, 4, guard)
    if sizes.columns < lanes:
        out.reorder(p, c, co, y, n, chunk).vectorize(p, lanes, guard).unroll(c)
        at = co
    else:
        out.split(p, po, p, lanes, hl.TailStrategy.ShiftInwards).reorder(p, c, po, co, y, n, chunk).vectorize(p).unroll(c)
        at = po
    _parallel(out, chunk, x)
    halves.compute_at(out, n)
    z.compute_at(out, at).reorder(p, j, i, c, y, n).vectorize(p, lanes).unroll(j).unroll(i).unroll(c)
    z.update().reorder(p, j, i, c, r.x, r.y, r.z, y, n).vectorize(p, lanes).unroll(j).unroll(i).unroll(c).unroll(r.x)
    return out


def _forward_along_filters(hl: Any, cpu: Cpu, x: Any, weight: Any, bias: Any, sizes: Sizes) -> Any:
    lanes, shift = cpu.lanes, hl.TailStrategy.ShiftInwards
    c, p, j, y, n, t, k = (hl.Var(name) for name in ("c", "p", "j", "y", "n", "t", "k"))
    chunk, co, po = hl.Var("chunk"), hl.Var("co"), hl.Var("po")
    image = _padded(hl, cpu, x, sizes)
    bank = hl.Func("bank")
    bank[c, t, k] = weight[t, k, c]
    r = hl.RDom([(0, sizes.taps), (0, sizes.kernel_height)])
    z = hl.Func("z")
    z[c, j, y, n] = hl.f32(0) if bias is None else bias[c]
    z[c, j, y, n] += bank[c, r.x, r.y] * image.read(r.x + sizes.channels * j, y + r.y, n)
    out = hl.Func("pooled")
    out[c, p, y, n] = _largest(hl, [z[c, 2 * p + tap % 2, 2 * y + tap // 2, n] for tap in range(4)])

    most = (cpu.registers - 4) // 4
    vectors = 2 if sizes.columns <= most // 2 and sizes.filters >= 2 * lanes else 1
    pixels = _even(sizes.columns, max(1, most // vectors))
    out.split(c, co, c, vectors * lanes, shift).split(p, po, p, pixels, shift).split(n, chunk, n, 4, hl.TailStrategy.GuardWithIf)
    out.reorder(c, p, po, co, y, n, chunk).vectorize(c, lanes).unroll(c).unroll(p)
    _parallel(out, chunk, x)
    bank.compute_root()
    image.compute_at(out, n)
    z.compute_at(out, po).vectorize(c, lanes).unroll(c).unroll(j).unroll(y)
    z.update().reorder(c, j, y, r.x, r.y, n).vectorize(c, lanes).unroll(c).unroll(j).unroll(y)
    z.update().unroll(r.x, _divisor(sizes.taps, 6))
    return out


def _largest(hl: Any, z: Sequence[Any]) -> Any:
    """(max(z, 0), which one it was) of four, where NaN never wins; -∞ if all are NaN, and `DEAD` where none is above 0."""
    # Numbers above 0 are, as unsigned integers, ordered as they are; negative ones and NaN are beyond infinity's.
    bits = [hl.reinterpret(hl.UInt(32), value) for value in z]
    alive = [hl.select(each <= hl.u32(0x7F800000), each, hl.u32(0)) for each in bits]
    upper, lower = hl.max(alive[0], alive[1]), hl.max(alive[2], alive[3])
    which_upper = hl.select(alive[1] > alive[0], hl.i32(1), hl.i32(0))
    which_lower = hl.select(alive[3] > alive[2], hl.i32(3), hl.i32(2))
    best = hl.max(upper, lower)
    which = hl.select(lower > upper, which_lower, which_upper)
    nothing = nan.is_nan(hl, z[0]) & nan.is_nan(hl, z[1]) & nan.is_nan(hl, z[2]) & nan.is_nan(hl, z[3])
    value = hl.select(nothing, hl.f32(float("-inf")), hl.reinterpret(hl.Float(32), best))
    return hl.Tuple([value, hl.cast(hl.UInt(8), hl.select(best > hl.u32(0), which, hl.i32(DEAD)))])


# ---------------------------------------------------------------------------------------------------- backward


def _build_weights(hl: Any, cpu: Cpu, x: Any, next_grad: Any, winners: Any, *, sizes: Sizes) -> Any:
    if sizes.filters < cpu.lanes:
        return _weights_along_rows(hl, cpu, x, next_grad, winners, sizes)
    return _weights_along_filters(hl, cpu, x, next_grad, winners, sizes)


def _weights_along_rows(hl: Any, cpu: Cpu, x: Any, next_grad: Any, winners: Any, sizes: Sizes) -> Any:
    lanes, stack = cpu.lanes, hl.MemoryType.Stack
    p, c, y, n, i, j = (hl.Var(name) for name in ("p", "c", "y", "n", "i", "j"))
    k, m, ky, part, co, t = (hl.Var(name) for name in ("k", "m", "ky", "part", "co", "t"))
    wide = _up(sizes.columns, lanes)
    halves = _halves(hl, cpu, x, sizes, wide)
    inside = hl.min(p, sizes.columns - 1)
    grad, won, spread = hl.Func("grad"), hl.Func("won"), hl.Func("spread")
    grad[p, c, y, n] = hl.select(p < sizes.columns, next_grad[sizes.filters * inside + c, y, n], hl.f32(0))
    won[p, c, y, n] = hl.cast(hl.Int(32), winners[sizes.filters * inside + c, y, n])
    spread[p, j, i, c, y, n] = hl.select(won[p, c, y, n] == j + 2 * i, grad[p, c, y, n], hl.f32(0))

    r = hl.RDom([(0, 2), (0, 2), (0, wide // lanes), (0, sizes.rows)])
    image = hl.Func("image")
    image[p, c, k, m, ky, n] = hl.f32(0)
    pixel = halves.split[p + lanes * r.z + (r.x + k) / 2, (r.x + k) % 2, m, 2 * r.w + r.y + ky, n]
    image[p, c, k, m, ky, n] += spread[p + lanes * r.z, r.x, r.y, c, r.w, n] * pixel

    images = _Images(hl, x, part)
    total = hl.Func("total")
    total[p, c, k, m, ky, part] = hl.f32(0)
    total[p, c, k, m, ky, part] += image[p, c, k, m, ky, images.number]
    lane = hl.Func("lane")
    lane[p, c, k, m, ky] = _sum([total[p, c, k, m, ky, each] for each in range(PARTS)])
    dweight = hl.Func("dweight")
    dweight[t, ky, c] = _sum([lane[each, c, t / sizes.channels, t % sizes.channels, ky] for each in range(lanes)])

    dbias = _dbias(hl, cpu, x, next_grad, winners, sizes)
    block = _divisor(sizes.filters, max(1, (cpu.registers // 2) // sizes.kernel_width))
    total.compute_root().bound_extent(p, lanes).vectorize(p)
    update = total.update()
    update.split(c, co, c, block).reorder(p, c, k, m, ky, co, images.r.x, part).vectorize(p, lanes).unroll(c).unroll(k)
    update.never_partition_all()
    _parallel(update, part, x)
    image.compute_at(total, m).store_in(stack).vectorize(p, lanes).unroll(c).unroll(k)
    image.update().reorder(p, c, k, r.x, r.y, r.z, r.w, m, ky, n).vectorize(p, lanes).unroll(c).unroll(k).unroll(r.x)
    halves.compute_at(total, images.r.x)
    spread.compute_at(total, images.r.x).store_in(stack).bound_extent(p, wide)
    spread.reorder(p, j, i, c, y, n).vectorize(p, lanes).unroll(j).unroll(i)
    for each in (grad, won):
        each.compute_at(spread, c).store_in(stack).vectorize(p, lanes)
    lane.compute_root().bound_extent(p, lanes).vectorize(p)
    return [dweight, dbias]


def _weights_along_filters(hl: Any, cpu: Cpu, x: Any, next_grad: Any, winners: Any, sizes: Sizes) -> Any:
    lanes, stack = cpu.lanes, hl.MemoryType.Stack
    c, t, ky, n, part = (hl.Var(name) for name in ("c", "t", "ky", "n", "part"))
    co, to = hl.Var("co"), hl.Var("to")
    wide = _up(sizes.filters, lanes)
    pixels = _padded(hl, cpu, x, sizes)
    spread = _spread(hl, next_grad, winners, sizes)
    r = hl.RDom([(0, 2 * sizes.columns), (0, 2 * sizes.rows)])
    image = hl.Func("image")
    image[c, t, ky, n] = hl.f32(0)
    image[c, t, ky, n] += spread[c, r.x, r.y, n] * pixels.read(t + sizes.channels * r.x, r.y + ky, n)

    images = _Images(hl, x, part)
    total = hl.Func("total")
    total[c, t, ky, part] = hl.f32(0)
    total[c, t, ky, part] += image[c, t, ky, images.number]
    bank, dweight = hl.Func("bank"), hl.Func("dweight")
    bank[c, t, ky] = _sum([total[c, t, ky, each] for each in range(PARTS)])
    dweight[t, ky, c] = bank[c, t, ky]

    dbias = _dbias(hl, cpu, x, next_grad, winners, sizes)

    total.compute_root().bound_extent(c, wide).vectorize(c, lanes)
    update = total.update()
    update.split(c, co, c, lanes).split(t, to, t, _divisor(sizes.taps, cpu.registers - 2))
    update.reorder(c, t, to, co, ky, images.r.x, part).vectorize(c).unroll(t).never_partition_all()
    _parallel(update, part, x)
    image.compute_at(total, to).store_in(stack).vectorize(c, lanes).unroll(t)
    image.update().reorder(c, t, r.x, r.y, ky, n).vectorize(c, lanes).unroll(t)
    pixels.compute_at(total, images.r.x)
    _schedule_spread(hl, cpu, spread, sizes).compute_at(total, images.r.x)
    bank.compute_root().bound_extent(c, wide).vectorize(c, lanes)
    return [dweight, dbias]


def _dbias(hl: Any, cpu: Cpu, x: Any, next_grad: Any, winners: Any, sizes: Sizes) -> Any:
    """dbias[c] = Σ dy over the windows that filter c won: whole rows at once, then their columns."""
    f, c, part = hl.Var("f"), hl.Var("c"), hl.Var("part")
    images = _Images(hl, x, part)
    r = hl.RDom([(0, sizes.rows), (0, images.each)])
    r.where(part * images.each + r.y < images.batch)
    number = hl.min(part * images.each + r.y, images.batch - 1)
    total, row, column, dbias = hl.Func("bias_total"), hl.Func("bias_row"), hl.Func("bias_column"), hl.Func("dbias")
    total[f, part] = hl.f32(0)
    total[f, part] += hl.select(winners[f, r.x, number] < hl.u8(DEAD), next_grad[f, r.x, number], hl.f32(0))
    row[f] = _sum([total[f, each] for each in range(PARTS)])
    columns = hl.RDom([(0, sizes.columns)])
    column[c] = hl.f32(0)
    column[c] += row[c + sizes.filters * columns.x]
    dbias[c] = column[c]
    guard = hl.TailStrategy.GuardWithIf
    total.compute_root().vectorize(f, cpu.lanes, guard)
    total.update().reorder(f, r.x, r.y, part).vectorize(f, cpu.lanes, guard).never_partition_all()
    _parallel(total.update(), part, x)
    row.compute_root().vectorize(f, cpu.lanes, guard)
    column.compute_root()
    return dbias


def _build_input(hl: Any, cpu: Cpu, next_grad: Any, winners: Any, weight: Any, *, sizes: Sizes) -> Any:
    lanes, stack, guard = cpu.lanes, hl.MemoryType.Stack, hl.TailStrategy.GuardWithIf
    t, c, k, j, y, n, f = (hl.Var(name) for name in ("t", "c", "k", "j", "y", "n", "f"))
    to, jo, chunk = hl.Var("to"), hl.Var("jo"), hl.Var("chunk")
    columns, rows = 2 * sizes.columns, 2 * sizes.rows
    vectors = _up(sizes.taps, lanes) // lanes
    block = _even(vectors, 2 if cpu.registers < 32 else 4)
    wide = _up(vectors, block) * lanes
    pixels = _divisor(columns, (cpu.registers - 4) // block)

    spread = _spread(hl, next_grad, winners, sizes)
    bank = hl.Func("bank")
    bank[t, c, k] = hl.select(t < sizes.taps, weight[hl.min(t, sizes.taps - 1), k, c], hl.f32(0))
    r = hl.RDom([(0, sizes.filters), (0, sizes.kernel_height)])
    r.where(y - r.y >= 0)
    r.where(y - r.y < rows)
    met = hl.Func("met")
    met[t, j, y, n] = hl.f32(0)
    met[t, j, y, n] += spread[r.x, j, hl.clamp(y - r.y, 0, rows - 1), n] * bank[t, r.x, r.y]
    tile = hl.Func("tile")
    tile[t, j, y, n] = hl.select(t < sizes.taps, met[t, j, y, n], hl.f32(0))  # beyond stands 0·dy, which may be NaN
    # What kernels at neighbouring pixels give overlaps by all but ``channels`` numbers: add them up, pixel by pixel.
    row = hl.Func("row")
    row[f, y, n] = hl.f32(0)
    rj = hl.RDom([(0, wide), (0, columns)])
    row[rj.x + sizes.channels * rj.y, y, n] += tile[rj.x, rj.y, y, n]
    dx = hl.Func("dx")
    first = sizes.channels * sizes.left
    dx[f, y, n] = row[f + first, y + sizes.top, n]

    length = _up(max((columns - 1) * sizes.channels + wide, first + _up(sizes.width * sizes.channels, lanes)), lanes)
    dx.vectorize(f, lanes, guard).split(n, chunk, n, 4, guard)
    _parallel(dx, chunk, next_grad)
    bank.compute_root().bound_extent(t, wide).vectorize(t, lanes)
    row.compute_at(dx, y).store_in(stack).bound(f, 0, length).vectorize(f, lanes)
    row.update().allow_race_conditions().vectorize(rj.x, lanes)
    if wide // lanes * columns <= 64:
        row.update().unroll(rj.x).unroll(rj.y)
    tile.compute_at(dx, y).store_in(stack)
    tile.split(t, to, t, block * lanes).split(j, jo, j, pixels).reorder(t, j, jo, to, y, n).vectorize(t, lanes).unroll(t).unroll(j)
    met.compute_at(tile, jo).vectorize(t, lanes).unroll(t).unroll(j)
    met.update().reorder(t, j, r.x, r.y, y, n).vectorize(t, lanes).unroll(t).unroll(j)
    _schedule_spread(hl, cpu, spread, sizes).compute_at(dx, n)
    return dx


def _spread(hl: Any, next_grad: Any, winners: Any, sizes: Sizes) -> Any:
    """The derivative by the convolution's output: dy at the winners, 0 elsewhere."""
    c, j, y, n = (hl.Var(name) for name in ("c", "j", "y", "n"))
    spread = hl.Func("spread")
    inside = hl.min(c, sizes.filters - 1)
    place = sizes.filters * (j / 2) + inside
    won = winners[place, y / 2, n] == hl.cast(hl.UInt(8), j % 2 + 2 * (y % 2))
    spread[c, j, y, n] = hl.select(won, next_grad[place, y / 2, n], hl.f32(0))
    return spread


def _schedule_spread(hl: Any, cpu: Cpu, spread: Any, sizes: Sizes) -> Any:
    c, j, y, _ = spread.args()
    jo, yo, ji, yi = (hl.Var(name) for name in ("jo", "yo", "ji", "yi"))
    spread.store_in(hl.MemoryType.Stack).bound(c, 0, _up(sizes.filters, cpu.lanes))
    spread.bound(j, 0, 2 * sizes.columns).bound(y, 0, 2 * sizes.rows)
    spread.tile(j, y, jo, yo, ji, yi, 2, 2).reorder(c, ji, yi, jo, yo).vectorize(c, cpu.lanes).unroll(ji).unroll(yi)
    return spread


# ---------------------------------------------------------------------------------------------------- what they share


class _Images:
    """The images of one partial sum: ``number`` runs over them."""

    def __init__(self, hl: Any, x: Any, part: Any) -> None:
        self.batch = x.dim(2).extent()
        self.each = (self.batch + PARTS - 1) / PARTS
        self.r = hl.RDom([(0, self.each)])
        self.r.where(part * self.each + self.r.x < self.batch)
        self.number = hl.min(part * self.each + self.r.x, self.batch - 1)


class _padded:  # noqa: N801 - reads as the image that it is
    """The image with its border, flat rows; the image itself where it needs none."""

    def __init__(self, hl: Any, cpu: Cpu, x: Any, sizes: Sizes) -> None:
        self._hl, self._cpu, self._sizes, self._x = hl, cpu, sizes, x
        self._func: Any = None
        if sizes.pads:
            f, y, n = hl.Var("f"), hl.Var("y"), hl.Var("n")
            first = sizes.channels * sizes.left
            self._length = _up(sizes.padded_width * sizes.channels, cpu.lanes)
            self._func = hl.Func("padded")
            self._func[f, y, n] = hl.f32(0)
            width = min(sizes.width * sizes.channels, sizes.padded_width * sizes.channels - first)
            self._r = hl.RDom([(0, max(width, 0)), (0, max(min(sizes.height, sizes.padded_height - sizes.top), 0))])
            self._func[self._r.x + first, self._r.y + sizes.top, n] = x[self._r.x, self._r.y, n]
            self._args = f, y

    def read(self, f: Any, y: Any, n: Any) -> Any:
        return self._x[f, y, n] if self._func is None else self._func[f, y, n]

    def compute_at(self, other: Any, var: Any) -> None:
        if self._func is None:
            return
        f, y = self._args
        self._func.compute_at(other, var).store_in(self._hl.MemoryType.Stack).bound(f, 0, self._length)
        self._func.bound(y, 0, self._sizes.padded_height).vectorize(f, self._cpu.lanes)
        self._func.update().vectorize(self._r.x, self._cpu.lanes, self._hl.TailStrategy.GuardWithIf)


class _halves:  # noqa: N801
    """The padded image, one plane per channel, split into its even and odd columns: ``split[p, odd, channel, y, n]``."""

    def __init__(self, hl: Any, cpu: Cpu, x: Any, sizes: Sizes, columns: int) -> None:
        self._hl, self._cpu, self._sizes = hl, cpu, sizes
        p, odd, m, y, n, j = (hl.Var(name) for name in ("p", "odd", "m", "y", "n", "j"))
        self._columns = _up(columns + sizes.kernel_width // 2, cpu.lanes)
        self._plane = hl.Func("plane")
        self._plane[j, m, y, n] = hl.f32(0)
        width = min(sizes.width, sizes.padded_width - sizes.left)
        height = min(sizes.height, sizes.padded_height - sizes.top)
        self._r = hl.RDom([(0, max(width, 0)), (0, sizes.channels), (0, max(height, 0))])
        pixel = x[self._r.y + sizes.channels * self._r.x, self._r.z, n]
        self._plane[self._r.x + sizes.left, self._r.y, self._r.z + sizes.top, n] = pixel
        self.split = hl.Func("split")
        self.split[p, odd, m, y, n] = self._plane[2 * p + odd, m, y, n]
        self._args = p, odd, y, j

    def compute_at(self, other: Any, var: Any) -> None:
        p, odd, y, j = self._args
        stack, lanes, rows = self._hl.MemoryType.Stack, self._cpu.lanes, self._sizes.padded_height
        self.split.compute_at(other, var).store_in(stack).bound(p, 0, self._columns).bound(y, 0, rows).bound(odd, 0, 2)
        self.split.vectorize(p, lanes).unroll(odd)
        _, m, yy, _ = self._plane.args()
        self._plane.compute_at(other, var).store_in(stack).bound(j, 0, 2 * self._columns).bound(yy, 0, rows)
        self._plane.bound(m, 0, self._sizes.channels).vectorize(j, lanes)
        self._plane.update().vectorize(self._r.x, lanes, self._hl.TailStrategy.GuardWithIf)


def _parallel(stage: Any, var: Any, of: Any) -> None:
    """Several threads from some images on: waking them takes as long as one image."""
    stage.specialize(of.dim(2).extent() >= 8).parallel(var)


def _sum(terms: Sequence[Any]) -> Any:
    """Pairwise."""
    terms = list(terms)
    while len(terms) > 1:
        terms = [sum(terms[place + 1 : place + 2], terms[place]) for place in range(0, len(terms), 2)]
    return terms[0]


def _up(count: int, step: int) -> int:
    """``count``, rounded up to a multiple of ``step``."""
    return -(-count // step) * step


def _divisor(count: int, most: int) -> int:
    """The largest divisor of ``count`` that is at most ``most``."""
    return next(each for each in range(max(1, min(count, most)), 0, -1) if count % each == 0)


def _even(count: int, most: int) -> int:
    """The size of equal blocks, of at most ``most``, that cover ``count`` with little left over."""
    return -(-count // -(-count // most))
