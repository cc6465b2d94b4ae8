"""dweight and dbias in Halide: a fixed number of partial sums over the batch, so that results don't depend on the thread count.

Lanes lie along the output channels, along the input channels, or, where both are few, along a row of pixels. Accumulators of a tile of
weights stay in registers over some rows of some images. Those rows are copied into blocks of
channels first: pixels whose channels are a power of two apart would share a few lines of the cache.
"""

from collections.abc import Callable
from typing import Any

from typednn.engines import Cpu
from typednn.kernels import sums
from typednn.kernels.activations import IDENTITY, Activation
from typednn.kernels.conv2d.geometry import (
    Geometry,
    accumulators,
    blocks,
    cost_by_channels,
    cost_by_pixels,
    divisor,
    power,
    round_up,
)
from typednn.kernels.conv2d.images import Derivative, Image, blocked, bordered, pixels, planes, store

_PARTS, _SUMS = 8, 1 << 21
FEW = _PARTS // 2 * sums.FEW
_TASK = 1 << 21
_FIRST = 24 * 1024
"""Bytes of the innermost loop's vectors, for the first cache."""


def build_dweight(hl: Any, cpu: Cpu, x: Any, dy: Any, *kept: Any, geometry: Geometry, activation: Activation, few: bool) -> list[Any]:
    """dweight[r, k, l, c] = Σ_xyn dz[c, x, y, n] x[r, x·stride + k·dilation, y·stride + l·dilation, n], and dbias[c] = Σ_xyn dz.

    ``few``: for up to `FEW` images. More are added up in double precision, which costs time where there are many weights.
    """
    derivative = Derivative(hl, dy, kept, geometry, activation)
    costs = {
        _by_pixels: 1.04 * cost_by_pixels(cpu, geometry.out()[1]),
        _by_in_channels: cost_by_channels(cpu, geometry.in_channels),
        _by_out_channels: cost_by_channels(cpu, geometry.out_channels),
    }
    build = min(costs, key=lambda each: costs[each])
    return [build(hl, cpu, x, derivative, geometry, few), _dbias(hl, cpu, derivative, geometry)]


def _sums_type(hl: Any, few: bool) -> Any:
    """The type in which a part's images are added up."""
    return hl.Float(32 if few else 64)


def _parts(geometry: Geometry) -> int:
    """The number of partial sums: at least as many as common thread counts; half of it where they would take too much memory."""
    weights = geometry.out_channels * geometry.kernel_size[0] * geometry.kernel_size[1] * geometry.in_channels
    return _PARTS if _PARTS * weights <= _SUMS else _PARTS // 2


class _Batch:
    """The images in ``parts`` partial sums; those of part ``p`` in turn, ``group`` of them at a time."""

    def __init__(self, hl: Any, size: Any, parts: int, p: Any, group: int = 1) -> None:
        self.hl, self.size, self.p, self.group = hl, size, p, group
        self.groups = (size + parts * group - 1) / (parts * group)

    def images(self, *before: tuple[int, int]) -> Any:
        """A reduction domain over a part's groups, after the axes ``before``."""
        r = self.hl.RDom([*before, (0, self.groups)])
        r.where(self._first(r[len(before)]) < self.size)
        return r

    def number(self, group: Any) -> Any:
        """The number of the first image of a group."""
        return self.hl.min(self._first(group), self.size - 1)

    def parallel(self, stage: Any, flops: int) -> None:
        """Parts in several threads, where there are images enough to pay for them, with ``flops`` for each."""
        least = -(-_TASK // flops)
        (stage if least <= 1 else stage.specialize(self.size >= least)).parallel(self.p)

    def _first(self, group: Any) -> Any:
        return (self.p * self.groups + group) * self.group


def _dbias(hl: Any, cpu: Cpu, derivative: Derivative, geometry: Geometry) -> Any:
    """The sum of dy through the activation: each number of y has one winner."""
    (height, width), channels = geometry.out(), geometry.out_channels
    f, c, n, p = (hl.Var(name) for name in "fcnp")
    guard, lanes = hl.TailStrategy.GuardWithIf, min(cpu.lanes, power(width * channels))
    batch = _Batch(hl, derivative.dy.dim(3).extent(), _parts(geometry), p)
    image, part, whole = hl.Func("image_bias"), hl.Func("part_bias"), hl.Func("row")
    rows, images = hl.RDom([(0, height)]), batch.images()
    image[f, n] = hl.f32(0)
    image[f, n] += derivative.vjp(f % channels, f / channels, rows, n)
    part[f, p] = hl.f64(0)
    part[f, p] += hl.cast(hl.Float(64), image[f, batch.number(images.x)])
    whole[f] = _tree([part[f, i] for i in range(_parts(geometry))])
    total, across = hl.Func("total_bias"), hl.RDom([(0, width)])
    total[c] = hl.f64(0)
    total[c] += whole[across * channels + c]
    dbias = hl.Func("dbias")
    dbias[c] = hl.cast(hl.Float(32), total[c])
    total.compute_root()
    whole.compute_root().vectorize(f, lanes, guard)
    part.compute_root().vectorize(f, lanes, guard)
    part.update().reorder(f, images.x, p).vectorize(f, lanes, guard).never_partition_all()
    batch.parallel(part.update(), 16 * height * width * channels)
    image.compute_at(part, images.x).vectorize(f, lanes, guard)
    image.update().reorder(f, rows.x, n).vectorize(f, lanes, guard)
    return dbias


def _by_out_channels(hl: Any, cpu: Cpu, x: Any, derivative: Derivative, geometry: Geometry, few: bool) -> Any:
    """Lanes are output channels; the accumulators of a tile are some taps of a row of the window."""
    lanes, channels, in_channels = cpu.lanes, geometry.out_channels, geometry.in_channels
    vectors = blocks(cpu, channels)
    taps = geometry.kernel_size[1] * in_channels
    most = (cpu.registers - 2) // vectors if channels <= lanes else cpu.registers // 2 // vectors
    tile_taps = max(t for t in range(1, max(most, 1) + 1) if taps % t == 0 and (in_channels % t == 0 or t % in_channels == 0))
    height, width = geometry.pooled_extent()
    dz = blocked(hl, cpu, derivative.at, (height, width, channels), vectors * lanes)
    if in_channels % lanes == 0 and in_channels > 2 * lanes:
        image = blocked(hl, cpu, pixels(x), (*geometry.size, in_channels), lanes, geometry.padding)
    else:
        image = bordered(hl, cpu, x, geometry)

    def product(c: Any, t: Any, l: Any, column: Any, row: Any, n: Any) -> Any:  # noqa: E741
        at = column * geometry.stride[1] + (t / in_channels) * geometry.dilation[1]
        return dz.at(c, column, row, n) * image.at(t % in_channels, at, row * geometry.stride[0] + l * geometry.dilation[0], n)

    parts = _partial_sums(hl, cpu, x, geometry, few, product, (vectors * lanes, channels), (tile_taps, taps), (dz, image))
    r, k, l, c, t, co = (hl.Var(name) for name in ("r", "k", "l", "c", "t", "co"))  # noqa: E741
    bank, dweight = hl.Func("bank"), hl.Func("dweight")
    bank[c, t, l] = hl.cast(hl.Float(32), _tree([parts[c, t, l, i] for i in range(_parts(geometry))]))
    dweight[r, k, l, c] = bank[c, k * in_channels + r, l]
    guard = hl.TailStrategy.GuardWithIf
    dweight.bound(c, 0, channels).split(c, co, c, lanes, guard).vectorize(r, min(lanes, power(in_channels)), guard)
    bank.compute_at(dweight, co).vectorize(c, lanes, hl.TailStrategy.RoundUp)
    if channels * taps >= 1 << 13:
        dweight.parallel(co)
    return dweight


def _by_in_channels(hl: Any, cpu: Cpu, x: Any, derivative: Derivative, geometry: Geometry, few: bool) -> Any:
    """Lanes are input channels; the accumulators of a tile are some output channels at one tap."""
    lanes, channels, in_channels = cpu.lanes, geometry.out_channels, geometry.in_channels
    vectors = blocks(cpu, in_channels)
    most = max(cpu.registers // 2 // vectors, 1) if in_channels > lanes else accumulators(cpu)
    height, width = geometry.pooled_extent()
    dz = Image(derivative.at) if derivative.is_dy else blocked(hl, cpu, derivative.at, (height, width, channels), channels)
    image = blocked(hl, cpu, pixels(x), (*geometry.size, in_channels), vectors * lanes, geometry.padding)

    def product(c: Any, t: Any, l: Any, column: Any, row: Any, n: Any) -> Any:  # noqa: E741
        at = column * geometry.stride[1] + (t / channels) * geometry.dilation[1]
        return dz.at(t % channels, column, row, n) * image.at(c, at, row * geometry.stride[0] + l * geometry.dilation[0], n)

    taps = geometry.kernel_size[1] * channels
    parts = _partial_sums(hl, cpu, x, geometry, few, product, (vectors * lanes, in_channels), (divisor(channels, most), taps), (dz, image))
    r, k, l, c = (hl.Var(name) for name in "rklc")  # noqa: E741
    dweight = hl.Func("dweight")
    dweight[r, k, l, c] = hl.cast(hl.Float(32), _tree([parts[r, k * channels + c, l, i] for i in range(_parts(geometry))]))
    dweight.vectorize(r, min(lanes, power(in_channels)), hl.TailStrategy.GuardWithIf)
    if in_channels * taps >= 1 << 13:
        dweight.parallel(c, 4, hl.TailStrategy.GuardWithIf)
    return dweight


def _partial_sums(
    hl: Any,
    cpu: Cpu,
    x: Any,
    geometry: Geometry,
    few: bool,
    product: Callable[..., Any],
    lanes: tuple[int, int],
    taps: tuple[int, int],
    stages: tuple[Image, ...],
) -> Any:
    """parts[c, t, l, p] = Σ product(c, t, l, x, y, n) over part p of the images. ``lanes`` and ``taps``: those of a tile, and all."""
    (height, width), (block, channels), (tile_taps, all_taps) = geometry.pooled_extent(), lanes, taps
    c, t, l, y, n, p, o, to = (hl.Var(name) for name in ("c", "t", "l", "y", "n", "p", "o", "to"))  # noqa: E741
    all_lanes = round_up(channels, block)
    # A few weights stay in the first cache themselves. Otherwise a tile takes as many pixels as do so, of one image or more.
    size = height * width if all_lanes * all_taps * geometry.kernel_size[0] <= 4096 else max(_FIRST // (4 * block), 1)
    rows = divisor(height, size // width)
    group = max(1, min(size // (height * width), 8))

    batch = _Batch(hl, x.dim(3).extent(), _parts(geometry), p, group)
    place = hl.RDom([(0, width), (0, rows), (0, group)])
    if group > 1:
        place.where(n + place.z < batch.size)
    tile = hl.Func("tile")
    tile[c, t, l, y, n] = hl.f32(0)
    tile[c, t, l, y, n] += product(c, t, l, place.x, y * rows + place.y, hl.min(n + place.z, batch.size - 1) if group > 1 else n)
    images = batch.images((0, height // rows))
    parts = hl.Func("parts")
    parts[c, t, l, p] = hl.cast(_sums_type(hl, few), 0)
    parts[c, t, l, p] += hl.cast(_sums_type(hl, few), tile[c, t, l, images.x, batch.number(images.y)])

    parts.bound_extent(c, all_lanes).compute_root().vectorize(c, cpu.lanes)
    update = parts.update()
    (
        update.split(c, o, c, block)
        .split(t, to, t, tile_taps)
        .reorder(c, t, l, to, o, images.x, images.y, p)
        .vectorize(c, cpu.lanes)
        .unroll(c)
        .unroll(t)
        .never_partition_all()
    )
    batch.parallel(update, geometry.flops())
    if all_lanes * all_taps * geometry.kernel_size[0] > 4096:
        parts.parallel(p)
    tile.compute_at(parts, l).store_in(hl.MemoryType.Stack).vectorize(c, cpu.lanes).unroll(c).unroll(t)
    tile.update().reorder(c, t, place.x, place.y, place.z, l).vectorize(c, cpu.lanes).unroll(c).unroll(t)
    if group > 1:
        tile.update().never_partition_all()
    for image in stages:
        image.compute_at(parts, images.y)
        if group > 1:  # the last group may be smaller, and what lies on the stack has one size
            for stage in image.stages:
                stage.store_in(hl.MemoryType.Heap)
    return parts


def _by_pixels(hl: Any, cpu: Cpu, x: Any, derivative: Derivative, geometry: Geometry, few: bool) -> Any:
    """Lanes are a row of y; the accumulators of a tile are some output channels at each tap of a row of the window."""
    (height, width), channels, pool = geometry.out(), geometry.out_channels, geometry.pool
    taps, (stride_down, stride), (dilation_down, dilation), lanes = geometry.kernel_size[1], geometry.stride, geometry.dilation, cpu.lanes
    most = cpu.registers // 2
    several = divisor(taps, most)
    block = divisor(channels, most // several)
    c, r, k, l, n, p, i, y, o, q, f = (hl.Var(name) for name in "crklnpiyoqf")  # noqa: E741
    ko, down = hl.Var("ko"), hl.Var("down")
    wide = round_up(width, lanes)
    image = planes(hl, cpu, x, geometry, max(width, lanes))
    vjp, lane, spread = hl.Func("vjp"), hl.Func("lane"), hl.Func("spread")
    column = hl.min(i, width - 1) if width % lanes else i
    vjp[f, y, n] = derivative.vjp(f % channels, f / channels, y, n)
    lane[i, c, y, n] = hl.Tuple([vjp[column * channels + c, y, n], derivative.winner(c, column, y, n)])
    dy = lane[i, c, y, n]
    spread[i, q, down, c, y, n] = derivative.part(dy[0], dy[1], q, down)

    def product(i: Any, column: Any, row: Any, q: Any, down: Any) -> Any:
        at = image.at(column + i, q * stride + k * dilation, r, (pool * row + down) * stride_down + l * dilation_down, n)
        return spread[column + i, q, down, c, row, n] * at

    tile = hl.Func("tile")
    tile[i, c, k, r, l, n] = hl.f32(0)
    full = hl.RDom([(0, pool), (0, pool), (0, max(width // lanes, 1)), (0, height)])
    tile[i, c, k, r, l, n] += product(i, full.z * lanes, full.w, full.x, full.y)
    end = hl.RDom([(0, pool), (0, pool), (0, height)])
    overlaps = width > lanes and width % lanes != 0
    if overlaps:
        # The last vector of a row overlaps the one before. What was counted is left out by select: multiplied by 0, NaN would stay.
        before = tile[i, c, k, r, l, n]
        last_vector = product(i, width - lanes, end.z, end.x, end.y)
        tile[i, c, k, r, l, n] = hl.select(i >= lanes - width % lanes, before + last_vector, before)

    batch = _Batch(hl, x.dim(3).extent(), _parts(geometry), p)
    images = batch.images()
    parts, over_parts = hl.Func("parts"), hl.Func("sums")
    parts[i, c, k, r, l, p] = hl.cast(_sums_type(hl, few), 0)
    parts[i, c, k, r, l, p] += hl.cast(_sums_type(hl, few), tile[i, c, k, r, l, batch.number(images.x)])
    over_parts[i, c, k, r, l] = hl.cast(hl.Float(32), _tree([parts[i, c, k, r, l, part] for part in range(_parts(geometry))]))
    dweight = hl.Func("dweight")
    dweight[r, k, l, c] = _tree([over_parts[lane, c, k, r, l] for lane in range(min(lanes, width))])  # lanes beyond a row are left out

    over_parts.compute_root().bound_extent(i, lanes).vectorize(i, lanes)
    parts.bound_extent(i, lanes).compute_root().vectorize(i, lanes)
    update = parts.update()
    (
        update.split(c, o, c, block)
        .split(k, ko, k, several)
        .reorder(i, c, k, ko, r, l, o, images.x, p)
        .vectorize(i, lanes)
        .unroll(c)
        .unroll(k)
        .never_partition_all()
    )
    batch.parallel(update, geometry.flops())
    tile.compute_at(parts, ko).store_in(hl.MemoryType.Stack).vectorize(i, lanes).unroll(c).unroll(k)
    tile.update().reorder(i, c, k, full.x, full.y, full.z, full.w).vectorize(i, lanes).unroll(c).unroll(k).unroll(full.x)
    if overlaps:
        tile.update(1).reorder(i, c, k, end.x, end.y, end.z).vectorize(i, lanes).unroll(c).unroll(k).unroll(end.x)
    spread.compute_at(parts, images.x).bound_extent(i, wide).reorder(i, q, down, c, y, n).vectorize(i, lanes).unroll(q).unroll(down)
    store(hl, spread, wide * pool**2 * channels * height)
    lane.compute_at(spread, c).store_in(hl.MemoryType.Stack).vectorize(i, lanes)  # once for all parts of a window
    if derivative.activation != IDENTITY:
        vjp.compute_at(spread, y).vectorize(f, min(lanes, power(width * channels)), hl.TailStrategy.ShiftInwards)
        store(hl, vjp, width * channels)
    image.compute_at(parts, images.x)
    return dweight


def _tree(terms: list[Any]) -> Any:
    """The sum as a balanced tree."""
    if len(terms) == 1:
        return terms[0]
    return _tree(terms[: len(terms) // 2]) + _tree(terms[len(terms) // 2 :])
