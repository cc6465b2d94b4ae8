"""dweight and dbias in Halide: a fixed number of partial sums over the batch, so that results don't depend on the
thread count.

Lanes lie along the output channels, along the input channels, or, where both are few, along a row of pixels.
Accumulators of a tile of weights stay in registers over some rows of some images. Those rows are copied into blocks of
channels first: pixels whose channels are a power of two apart would share a few lines of the cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, TypeAlias

from typednn.engines import Cpu, hl
from typednn.kernels import sums
from typednn.kernels.activations import IDENTITY, Activation
from typednn.kernels.conv2d.geometry import (
    FEW_IMAGES,
    LATENCY,
    Geometry,
    cost_by_channels,
    cost_by_pixels,
    divisor,
    power,
    round_up,
    tile_of_weights,
    within_group,
)
from typednn.kernels.conv2d.images import Derivative, Image, Pixels, blocked, bordered, pixels, planes, store

_PARTS, _SUMS = 8, 1 << 21
FEW_ADDED = _PARTS // 2 * sums.FEW
_LARGE = 1 << 14  # weights of which writing several partial sums takes as long as summing them over an image
_TASK = 1 << 21
_SHARES = 8  # of the weights, for the threads that share an image
_WHOLE = 1 << 21  # weights from which partial sums take longer to write than the batch takes to copy

# How many images a kernel is for: so few that threads share each; up to `FEW_ADDED`; or more, which are added in double
# precision.
Images: TypeAlias = Literal["single", "few", "many"]


def images_of(batch: int, weights: int) -> Images:
    """Which kernel computes such a batch."""
    if batch < FEW_IMAGES and weights >= _LARGE:
        return "single"
    return "few" if batch <= FEW_ADDED else "many"


_BY_TWO = (2, 2), (2, 2), (1, 1)  # pooling by two
_FIRST = 24 * 1024  # bytes of the innermost loop's vectors, for the first cache


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
    """dweight[r, k, l, c] = Σ_xyn dz[c, x, y, n] x[r, x·stride + k·dilation, y·stride + l·dilation, n].

    If ``biased``, dbias[c] = Σ_xyn dz as well. Sums over many images are added up in double precision, which costs time
    where there are many weights.
    """
    derivative = Derivative(dy, kept, geometry, activation)
    build = {"pixels": _by_pixels, "in_channels": _by_in_channels, "out_channels": _by_out_channels}[
        lanes_of(cpu, geometry)
    ]
    return [
        build(cpu, x, derivative, geometry, images),
        *([build_dbias(cpu, derivative, geometry)] if biased else ()),
    ]


def lanes_of(cpu: Cpu, geometry: Geometry) -> str:
    """The axis of the lanes in dweight's kernel: "pixels", "in_channels" or "out_channels"."""
    if geometry.groups > 1:
        return "out_channels"
    latency = max(1, LATENCY / math.prod(_tile_by_out_channels(cpu, geometry)))
    costs = {
        "pixels": 1.04 * cost_by_pixels(cpu, geometry.out()[1], geometry.in_channels),
        "in_channels": cost_by_channels(cpu, geometry.in_channels),
        "out_channels": cost_by_channels(cpu, geometry.out_channels) * latency,
    }
    return min(costs, key=lambda each: costs[each])


def _tile_by_out_channels(cpu: Cpu, geometry: Geometry) -> tuple[int, int]:
    """Vectors of output channels and taps of a tile: whole pixels, or whole parts of one."""
    in_channels, out_channels = geometry.of_group
    taps = geometry.kernel_size[1] * in_channels

    def fits(count: int) -> bool:
        return taps % count == 0 and (in_channels % count == 0 or count % in_channels == 0)

    return tile_of_weights(cpu, out_channels, taps, fits, geometry.groups)


def type_of_part(x: hl.ImageParam, images: Images) -> hl.Type:
    """The type of a partial sum."""
    return hl.Float(64) if images == "many" else x.type()


def _weights(geometry: Geometry) -> int:
    return geometry.out_channels * geometry.kernel_size[0] * geometry.kernel_size[1] * geometry.of_group[0]


class Batch:
    """The images in ``parts`` partial sums; those of part ``p`` in turn, ``group`` of them at a time.

    There are at least as many parts as common thread counts; half of them where they would take too much memory; one
    where threads share each image.
    """

    def __init__(
        self, size: hl.Expr, geometry: Geometry, images: Images, p: hl.Var, group: int = 1, whole: bool = False
    ) -> None:
        weights = _weights(geometry)
        self.parts: int = 1 if images == "single" or whole else _PARTS if _PARTS * weights <= _SUMS else _PARTS // 2
        self.size: hl.Expr = size
        self.p: hl.Var = p
        self.group: int = group
        self.groups: hl.Expr = (size + self.parts * group - 1) / (self.parts * group)

    def images(self, *before: tuple[int, int]) -> hl.RDom:
        """A reduction domain over a part's groups, after the axes ``before``."""
        r = hl.RDom([*before, (0, self.groups)])
        r.where(self._first(r[len(before)]) < self.size)
        return r

    def number(self, group: hl.Expr) -> hl.Expr:
        """The number of the first image of a group."""
        return hl.min(self._first(group), self.size - 1)

    def parallel(self, stage: hl.Func | hl.Stage, flops: int) -> None:
        """Parts in several threads, where there are images enough to pay for them, with ``flops`` for each."""
        least = -(-_TASK // flops)
        (stage if least <= 1 else stage.specialize(self.size >= least)).parallel(self.p)

    def total(self, part: Callable[[int], hl.Expr]) -> hl.Expr:
        """The sum of all parts, as a balanced tree."""
        return _tree([part(number) for number in range(self.parts)])

    def _first(self, group: hl.Expr) -> hl.Expr:
        return (self.p * self.groups + group) * self.group


def build_dbias(cpu: Cpu, derivative: Derivative, geometry: Geometry) -> hl.Func:
    """The sum of dy through the activation: each number of y has one winner.

    Of pooled columns each place within the windows has a sum of its own, so the order is that of the columns.
    """
    (height, width), channels, pool = geometry.out(), geometry.out_channels, geometry.pool
    f, q, c, n, p = (hl.Var(name) for name in "fqcnp")
    guard, lanes = hl.TailStrategy.GuardWithIf, min(cpu.lanes, power(width * channels))
    image, part, row, total, dbias = (
        hl.Func(name) for name in ("image_bias", "part_bias", "row", "total_bias", "dbias")
    )
    batch = Batch(derivative.dy.dim(3).extent(), geometry, "few", p)
    rows, images, across = hl.RDom([(0, height)]), batch.images(), hl.RDom([(0, pool), (0, width)])
    place = f % channels, f / channels, rows, n
    dz = derivative.vjp(*place)
    image[f, q, n] += dz if pool == 1 else hl.select(derivative.winner(*place) % pool == q, dz, 0)
    part[f, q, p] += hl.cast(hl.Float(64), image[f, q, batch.number(images.x)])
    row[f, q] = batch.total(lambda number: part[f, q, number])
    total[c] += row[across.y * channels + c, across.x]
    dbias[c] = hl.cast(derivative.dy.type(), total[c])
    total.compute_root()
    row.compute_root().vectorize(f, lanes, guard)
    part.compute_root().vectorize(f, lanes, guard)
    part.update().reorder(f, q, images.x, p).vectorize(f, lanes, guard).never_partition_all()
    batch.parallel(part.update(), 16 * height * width * channels)
    image.compute_at(part, images.x).vectorize(f, lanes, guard).update().reorder(f, q, rows.x, n).vectorize(
        f, lanes, guard
    ).unroll(q)
    image.bound(q, 0, pool)
    return dbias


def _by_out_channels(cpu: Cpu, x: hl.ImageParam, derivative: Derivative, geometry: Geometry, images: Images) -> hl.Func:
    """Lanes are output channels; the accumulators of a tile are some taps of a row of the window."""
    channels, in_channels, of_group = geometry.out_channels, geometry.in_channels, geometry.of_group[0]
    cpu = within_group(cpu, geometry.of_group[1], geometry.groups)
    lanes = cpu.lanes
    vectors, tile_taps = _tile_by_out_channels(cpu, geometry)
    taps = geometry.kernel_size[1] * of_group
    dz = blocked(cpu, derivative.at, (*geometry.pooled_extent(), channels), vectors * lanes)
    if in_channels % lanes == 0 and in_channels > 2 * lanes:
        image = blocked(cpu, pixels(x), (*geometry.size, in_channels), lanes, geometry.window.padding)
    else:
        image = bordered(cpu, x, geometry)
    total = _totals(cpu, x, geometry, images, dz, image, True, vectors * lanes, tile_taps)
    r, k, l, c, t, co = (hl.Var(name) for name in ("r", "k", "l", "c", "t", "co"))  # noqa: E741
    bank, dweight, guard = hl.Func("bank"), hl.Func("dweight"), hl.TailStrategy.GuardWithIf
    bank[c, t, l] = total(c, t, l)
    dweight[r, k, l, c] = bank[c, k * of_group + r, l]
    dweight.bound(c, 0, channels).split(c, co, c, lanes, guard).vectorize(r, min(lanes, power(of_group)), guard)
    bank.compute_at(dweight, co).vectorize(c, lanes, hl.TailStrategy.RoundUp)
    if channels * taps >= 1 << 13:
        dweight.parallel(co)
    return dweight


def _by_in_channels(cpu: Cpu, x: hl.ImageParam, derivative: Derivative, geometry: Geometry, images: Images) -> hl.Func:
    """Lanes are input channels; the accumulators of a tile are some output channels at one tap."""
    lanes, channels, in_channels = cpu.lanes, geometry.out_channels, geometry.in_channels
    vectors, filters = tile_of_weights(cpu, in_channels, channels, lambda count: channels % count == 0)
    dz: Pixels = Image(derivative.at)
    if not derivative.is_dy:
        dz = blocked(cpu, derivative.at, (*geometry.pooled_extent(), channels), channels)
    image = blocked(cpu, pixels(x), (*geometry.size, in_channels), vectors * lanes, geometry.window.padding)
    total = _totals(cpu, x, geometry, images, dz, image, False, vectors * lanes, filters)
    r, k, l, c = (hl.Var(name) for name in "rklc")  # noqa: E741
    dweight = hl.Func("dweight")
    dweight[r, k, l, c] = total(r, k * channels + c, l)
    dweight.vectorize(r, min(lanes, power(in_channels)), hl.TailStrategy.GuardWithIf)
    if in_channels * geometry.kernel_size[1] * channels >= 1 << 13:
        dweight.parallel(c, 4, hl.TailStrategy.GuardWithIf)
    return dweight


def _totals(
    cpu: Cpu,
    x: hl.ImageParam,
    geometry: Geometry,
    images: Images,
    dz: Pixels,
    image: Pixels,
    by_out: bool,
    block: int,
    tile_taps: int,
) -> Callable[[hl.Expr, hl.Expr, hl.Expr], hl.Expr]:
    """The sums of dz times x over the batch, by the channel c of a lane, the tap t across, with its channel, and the
    tap l down.

    ``by_out``: lanes are output channels. A tile takes ``block`` of them, and ``tile_taps``.
    """
    (height, width), (kernel_height, kernel_width) = geometry.pooled_extent(), geometry.kernel_size
    inward, outward = geometry.of_group
    lane_channels, tap_channels = (geometry.out_channels, inward) if by_out else (inward, geometry.out_channels)
    c, t, l, y, n, p, o, to, within = (hl.Var(name) for name in ("c", "t", "l", "y", "n", "p", "o", "to", "within"))  # noqa: E741
    all_lanes = round_up(lane_channels, block)
    weights = all_lanes * kernel_width * tap_channels * kernel_height
    # So many weights that they should be written once: threads share them, and a tile stays in registers over many
    # images.
    whole = images != "single" and weights >= _WHOLE
    rows, group = _of_tile(height, width, weights, x.type().bytes() * block, whole)

    def product(column: hl.Expr, row: hl.Expr, n: hl.Expr) -> hl.Expr:
        of_dz, of_x = (c, t % tap_channels) if by_out else (t % tap_channels, c)
        if geometry.groups > 1:  # by_out; the lanes of a vector are of one group
            of_x += c / cpu.lanes / (outward // cpu.lanes) * inward
        across = column * geometry.window.stride[1] + (t / tap_channels) * geometry.window.dilation[1]
        return dz.at(of_dz, column, row, n) * image.at(
            of_x, across, row * geometry.window.stride[0] + l * geometry.window.dilation[0], n
        )

    batch, accumulated = Batch(x.dim(3).extent(), geometry, images, p, group, whole), type_of_part(x, images)
    place, of_part = hl.RDom([(0, width), (0, rows), (0, group)]), batch.images((0, height // rows))
    if group > 1:
        place.where(n + place.z < batch.size)
    tile, parts = hl.Func("tile"), hl.Func("parts")
    tile[c, t, l, y, n] += product(place.x, y * rows + place.y, hl.min(n + place.z, batch.size - 1) if group > 1 else n)
    parts[c, t, l, p] += hl.cast(accumulated, tile[c, t, l, of_part.x, batch.number(of_part.y)])

    parts.bound_extent(c, all_lanes).compute_root().vectorize(c, cpu.lanes)
    update = parts.update().split(c, o, c, block).split(t, to, t, tile_taps)
    update.reorder(c, t, l, to, o, of_part.x, of_part.y, p)
    update.vectorize(c, cpu.lanes).unroll(c).unroll(t).never_partition_all()
    guard = hl.TailStrategy.GuardWithIf
    if images == "single":
        shares = -(-_SHARES // (all_lanes // block))
        update.split(to, to, within, -(-(kernel_width * tap_channels // tile_taps) // shares), guard)
        update.fuse(to, o, o).parallel(o)
    elif whole:
        update.reorder(c, t, of_part.x, of_part.y, l, to, o, p).fuse(to, o, o).parallel(o)
    else:
        batch.parallel(update, geometry.flops())
    if images == "single" or whole:
        parts.parallel(t, tile_taps, guard)
    elif weights > 4096:
        parts.parallel(p)
    tile.compute_at(parts, of_part.x if whole else l).store_in(hl.MemoryType.Stack)
    for stage in (tile, tile.update().reorder(c, t, place.x, place.y, place.z, l)):
        stage.vectorize(c, cpu.lanes).unroll(c).unroll(t)
    if group > 1:
        tile.update().never_partition_all()
    for stage in (*dz.stages, *image.stages):
        if whole:
            in_parallel(stage)
            continue
        stage.compute_at(parts, of_part.y)
        if group > 1:  # the last group may be smaller, and what lies on the stack has one size
            stage.store_in(hl.MemoryType.Heap)
    return lambda c, t, down: hl.cast(x.type(), batch.total(lambda number: parts[c, t, down, number]))


def _of_tile(height: int, width: int, weights: int, bytes_of_pixel: int, whole: bool) -> tuple[int, int]:
    """The rows of an image that a tile takes, and how many images."""
    if whole:
        return divisor(height, sums.FEW // width), max(1, sums.FEW // (height * width))
    # A few weights stay in the first cache themselves. Otherwise a tile takes as many pixels as do so, of one image or
    # more.
    size = height * width if weights <= 4096 else max(_FIRST // bytes_of_pixel, 1)
    return divisor(height, size // width), max(1, min(size // (height * width), 8))


def in_parallel(stage: hl.Func) -> None:
    """Compute the copy of the whole batch, an image in a thread."""
    image = stage.args()[-1]
    stage.compute_root().store_in(hl.MemoryType.Heap).parallel(image)
    for number in range(stage.num_update_definitions()):
        stage.update(number).parallel(image)


def _by_pixels(cpu: Cpu, x: hl.ImageParam, derivative: Derivative, geometry: Geometry, images: Images) -> hl.Func:
    """Lanes are a row of y; the accumulators of a tile are some output channels at each tap of a row of the window."""
    if _by_two(cpu, geometry):
        geometry = geometry._replace(window=geometry.window._replace(pooling=_BY_TWO))
    (height, width), channels, pool = geometry.out(), geometry.out_channels, geometry.pool
    taps, lanes = geometry.kernel_size[1], cpu.lanes
    (stride_down, stride), (dilation_down, dilation) = geometry.window.stride, geometry.window.dilation
    several = divisor(taps, cpu.registers // 2)
    block = divisor(channels, max(cpu.registers * 3 // 4 // several, 1))
    c, r, k, l, n, p, i, o, ko = (hl.Var(name) for name in ("c", "r", "k", "l", "n", "p", "i", "o", "ko"))  # noqa: E741
    wide = round_up(width, lanes)
    image, (spread, schedule_spread) = planes(cpu, x, geometry, wide), _spread(cpu, derivative, geometry, wide)
    tile, parts, over_parts, dweight = (hl.Func(name) for name in ("tile", "parts", "sums", "dweight"))

    def product(
        i: hl.Expr,
        column: hl.Expr | int,
        row: hl.Expr,
        q: hl.Expr,
        down: hl.Expr,
        inside: Callable[[hl.Expr], hl.Expr] = lambda pixel: pixel,
    ) -> hl.Expr:
        across = column + i, q * stride + k * dilation
        at = image.at(r, across, (pool * row + down) * stride_down + l * dilation_down, n)
        return spread[column + i, q, down, c, row, n] * inside(at)

    full = hl.RDom([(0, pool), (0, pool), (0, max(width // lanes, 1)), (0, height)])
    end = hl.RDom([(0, pool), (0, pool), (0, height)])
    tile[i, c, k, r, l, n] += product(i, full.z * lanes, full.w, full.x, full.y)
    overhangs = width > lanes and width % lanes != 0
    if overhangs:
        # Pixels beyond the row count as 0, as their dy does: infinity times 0 would be NaN.
        first = width // lanes * lanes
        tile[i, c, k, r, l, n] += product(
            i, first, end.z, end.x, end.y, lambda pixel: hl.select(first + i < width, pixel, 0)
        )

    batch = Batch(x.dim(3).extent(), geometry, images, p)
    of_part = batch.images()
    parts[i, c, k, r, l, p] += hl.cast(type_of_part(x, images), tile[i, c, k, r, l, batch.number(of_part.x)])
    over_parts[i, c, k, r, l] = hl.cast(x.type(), batch.total(lambda number: parts[i, c, k, r, l, number]))
    # Lanes beyond a row are left out.
    dweight[r, k, l, c] = _tree([over_parts[lane, c, k, r, l] for lane in range(min(lanes, width))])

    over_parts.compute_root().bound_extent(i, lanes).vectorize(i, lanes)
    parts.bound_extent(i, lanes).compute_root().vectorize(i, lanes)
    update = (
        parts.update()
        .split(c, o, c, block)
        .split(k, ko, k, several)
        .reorder(i, c, k, ko, r, l, o, of_part.x, p)
        .vectorize(i, lanes)
        .unroll(c)
        .unroll(k)
        .never_partition_all()
    )
    batch.parallel(update, geometry.flops())
    tile.compute_at(parts, ko).store_in(hl.MemoryType.Stack).vectorize(i, lanes).unroll(c).unroll(k)
    tile.update().reorder(i, c, k, full.x, full.y, full.z, full.w).vectorize(i, lanes).unroll(c).unroll(k).unroll(
        full.x
    )
    if overhangs:
        tile.update(1).reorder(i, c, k, end.x, end.y, end.z).vectorize(i, lanes).unroll(c).unroll(k).unroll(end.x)
    schedule_spread(parts, of_part.x)
    image.compute_at(parts, of_part.x)
    return dweight


def _spread(
    cpu: Cpu, derivative: Derivative, geometry: Geometry, wide: int
) -> tuple[hl.Func, Callable[[hl.Func, hl.RVar], None]]:
    """dz at pixel (q, down) of window i of a row of ``wide`` windows, spread[i, q, down, c, y, n], and what schedules
    it within another.
    """
    (height, width), channels, pool, lanes = geometry.out(), geometry.out_channels, geometry.pool, cpu.lanes
    in_windows = derivative.geometry.pool == pool  # else dz is known at every pixel
    i, q, down, c, y, n, f = (hl.Var(name) for name in ("i", "q", "down", "c", "y", "n", "f"))
    vjp, lane, spread = (hl.Func(name) for name in ("vjp", "lane", "spread"))
    column = hl.min(i, width - 1) if width % lanes else i
    vjp[f, y, n] = derivative.vjp(f % channels, f / channels, y, n)

    def in_row(dz: hl.Expr) -> hl.Expr:
        return hl.select(i < width, dz, 0) if width % lanes else dz

    if in_windows:
        of_window = in_row(vjp[column * channels + c, y, n])
        lane[i, c, y, n] = hl.Tuple([of_window, derivative.winner(c, column, y, n)])
        dy = lane[i, c, y, n]
        spread[i, q, down, c, y, n] = derivative.part(dy[0], dy[1], q, down)
    else:
        spread[i, q, down, c, y, n] = in_row(vjp[(column * pool + q) * channels + c, y * pool + down, n])

    def schedule(within: hl.Func, at: hl.RVar) -> None:
        spread.compute_at(within, at).bound_extent(i, wide).reorder(i, q, down, c, y, n).vectorize(i, lanes)
        spread.unroll(q).unroll(down)
        store(spread, wide * pool**2 * channels * height)
        if in_windows:
            lane.compute_at(spread, c).store_in(hl.MemoryType.Stack).vectorize(i, lanes)  # once for a whole window
        if derivative.activation != IDENTITY:
            row = derivative.geometry.out()[1] * channels
            store(vjp.compute_at(spread, y), row * (1 if in_windows else pool))
            vjp.vectorize(f, min(lanes, power(row)), hl.TailStrategy.ShiftInwards)

    return spread, schedule


def _by_two(cpu: Cpu, geometry: Geometry) -> bool:
    """Whether the pixels of y are added two by two, as pooling by two takes them: in the order of a convolution that is
    pooled.
    """
    height, width = geometry.out()
    is_even = geometry.pool == 1 and height % 2 == width % 2 == 0
    return is_even and 2 * round_up(width // 2, cpu.lanes) <= round_up(width, cpu.lanes)


def _tree(terms: list[hl.Expr]) -> hl.Expr:
    """The sum as a balanced tree."""
    if len(terms) == 1:
        return terms[0]
    return _tree(terms[: len(terms) // 2]) + _tree(terms[len(terms) // 2 :])
