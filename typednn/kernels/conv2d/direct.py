"""Direct convolution in Halide: forward, and dx at stride 1.

Accumulators of a tile of outputs stay in registers while the whole kernel window passes over them. Lanes lie along the
output channels, whose weights are packed for that at each call, or along a row of pixels where channels are few and
would leave lanes idle; for dx, with few channels as well, along the weights of a row of the window: products of kernels
at neighbouring pixels overlap, and are added up. With groups, lanes lie along the output channels, as many as divide
those of a group.

Halide's axes run backwards: channels c, columns x, rows y, images n. Of a window: k across, l down, r its channels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from typednn.engines import Cpu, hl, nan, type_of
from typednn.kernels.activations import Activation
from typednn.kernels.conv2d.geometry import (
    FEW_IMAGES,
    Geometry,
    accumulators,
    cost_by_channels,
    cost_by_pixels,
    cost_by_taps,
    divisor,
    power,
    round_up,
    tile,
    tile_of_channels,
    within_group,
)
from typednn.kernels.conv2d.images import Derivative, Pixels, Planes, bordered, filled_up, planes, store

# A weight, by output channel, input channel, and place across and down in the window.
Weights: TypeAlias = "Callable[[hl.Expr, hl.Expr, hl.Expr, hl.Expr], hl.Expr]"
Finish: TypeAlias = "Callable[[Sequence[hl.Expr]], list[hl.Expr]]"  # what is written, from the z of a pooling window
TASK = 1 << 20
SHARED = 1 << 22  # operations for an image from which several threads pay


def build_forward(
    cpu: Cpu,
    x: hl.ImageParam,
    weight: hl.ImageParam,
    bias: hl.ImageParam | None = None,
    *,
    geometry: Geometry,
    activation: Activation,
    keeps: bool,
) -> hl.Func:
    """z[c, x, y, n] = bias[c] + Σ_rkl x[r, x·stride + k·dilation, y·stride + l·dilation, n] weight[r, k, l, c]; y, or y
    and winners.
    """
    return forward(cpu, x, weight, bias, geometry=geometry, activation=activation, keeps=keeps, batch=x.dim(3).extent())


def forward(
    cpu: Cpu,
    x: hl.ImageParam | hl.Func,
    weight: hl.ImageParam,
    bias: hl.ImageParam | None = None,
    *,
    geometry: Geometry,
    activation: Activation,
    keeps: bool = False,
    batch: hl.Expr | None = None,
) -> hl.Func:
    """As `build_forward`. Without ``batch``, the number of images, one thread computes image after image, within
    another kernel.
    """

    def weights(c: hl.Expr, r: hl.Expr, k: hl.Expr, l: hl.Expr) -> hl.Expr:  # noqa: E741
        return weight[r, k, l, c]

    if geometry.groups > 1 or cost_by_channels(cpu, geometry.out_channels) <= cost_by_pixels(
        cpu, geometry.out()[1], geometry.in_channels
    ):
        return _by_channels(
            cpu, geometry, bordered(cpu, x, geometry), weights, finishing(activation, keeps), batch, bias
        )
    return _by_pixels(
        cpu,
        geometry,
        planes(cpu, x, geometry, _computed(cpu, geometry)),
        weights,
        finishing(activation, keeps),
        batch,
        bias,
    )


def build_dx(
    cpu: Cpu,
    dy: hl.ImageParam,
    weight: hl.ImageParam,
    *kept: hl.ImageParam,
    geometry: Geometry,
    activation: Activation,
) -> hl.Func:
    """dx[c, x, y, n] = Σ_rkl dz[r, x - k, y - l, n] weight[c, k, l, r], where dz has such a pixel (k, l times the
    dilation); stride 1.
    """
    derivative = Derivative(dy, kept, geometry, activation)
    lanes_along = dx_lanes(cpu, geometry)
    if lanes_along == "taps":
        return _by_taps(cpu, geometry, derivative, weight)
    transposed, (taps_down, taps_across) = geometry.transposed(), geometry.kernel_size
    inward, outward = geometry.of_group

    def weights(c: hl.Expr, r: hl.Expr, k: hl.Expr, l: hl.Expr) -> hl.Expr:  # noqa: E741
        if geometry.groups > 1:
            c, r = c % inward, c / inward * outward + r
        return weight[c, taps_across - 1 - k, taps_down - 1 - l, r]

    if lanes_along == "channels":
        return _by_channels(cpu, transposed, derivative.bordered(cpu), weights, list, dy.dim(3).extent())
    images = derivative.planes(cpu, _computed(cpu, transposed))
    return _by_pixels(cpu, transposed, images, weights, list, dy.dim(3).extent())


def dx_lanes(cpu: Cpu, geometry: Geometry) -> str:
    """The axis of the lanes in dx's kernel: "channels", "pixels" or "taps". Only "taps" multiplies no weights by the
    zeros around dz.
    """
    if geometry.groups > 1:
        return "channels"
    costs = {
        "channels": cost_by_channels(cpu, geometry.in_channels),
        "pixels": cost_by_pixels(cpu, geometry.size[1], geometry.out_channels),
        "taps": cost_by_taps(cpu, geometry),
    }
    return min(costs, key=lambda each: costs[each])


def _by_channels(
    cpu: Cpu,
    geometry: Geometry,
    image: Pixels,
    weights: Weights,
    finish: Finish,
    batch: hl.Expr | None,
    bias: hl.ImageParam | None = None,
) -> hl.Func:
    (height, width), channels, pool = geometry.out(), geometry.out_channels, geometry.pool
    (taps_down, taps_across), (in_channels, of_group) = geometry.kernel_size, geometry.of_group
    cpu = within_group(cpu, of_group, geometry.groups)
    vectors, columns, rows = tile_of_channels(cpu, of_group, width, height, pool, geometry.groups)
    lanes, block = cpu.lanes, vectors * cpu.lanes

    c, r, k, l, o, x, y, n = (hl.Var(name) for name in "crkloxyn")  # noqa: E741
    xo, yo, guard, inwards = hl.Var("xo"), hl.Var("yo"), hl.TailStrategy.GuardWithIf, hl.TailStrategy.ShiftInwards

    packed, sums, out = hl.Func("packed"), hl.Func("sums"), hl.Func("out")
    packed[c, r, k, l, o] = filled_up(lambda channel: weights(channel, r, k, l), o * block + c, channels, block)
    window = hl.RDom([(0, in_channels), (0, taps_across), (0, taps_down)])
    sums[c, x, y, n, o] = (
        hl.cast(type_of(weights(c, r, k, l)), 0)
        if bias is None
        else filled_up(lambda channel: bias[channel], o * block + c, channels, block)
    )
    sums[c, x, y, n, o] += packed[c, window.x, window.y, window.z, o] * image.at(
        window.x if geometry.groups == 1 else o / (of_group // block) * in_channels + window.x,
        x * geometry.window.stride[1] + window.y * geometry.window.dilation[1],
        y * geometry.window.stride[0] + window.z * geometry.window.dilation[0],
        n,
    )
    out[c, x, y, n] = together(
        finish([sums[c % block, pool * x + i, pool * y + j, n, c / block] for j in range(pool) for i in range(pool)]),
    )

    (
        out.bound(c, 0, channels)
        .bound(x, 0, width)
        .bound(y, 0, height)
        .split(c, o, c, block, guard)
        .split(x, xo, x, columns, inwards)
        .split(y, yo, y, rows, inwards)
        .reorder(c, x, y, xo, yo, o, n)
        .vectorize(c, lanes, guard)
        .unroll(c)
        .unroll(x)
        .unroll(y)
    )
    if batch is not None:
        if geometry.flops() >= SHARED:  # too few images for all threads, which share each image instead
            task = hl.Var("task")
            out.specialize(batch < FEW_IMAGES).fuse(yo, o, task).parallel(task)
        parallel(out, n, geometry.flops())
    sums.compute_at(out, xo).store_in(hl.MemoryType.Stack).vectorize(c, lanes).unroll(c).unroll(x).unroll(y)
    update = (
        sums.update().reorder(c, x, y, window.x, window.y, window.z).vectorize(c, lanes).unroll(c).unroll(x).unroll(y)
    )
    if in_channels % 4 == 0 or in_channels <= 8:
        update.unroll(window.x, 4 if in_channels % 4 == 0 else in_channels)
    packed.compute_root().vectorize(c, lanes)
    if channels * in_channels * taps_across * taps_down >= 1 << 16:
        packed.parallel(o)
    image.compute_at(out, n)
    return out


def _by_pixels(
    cpu: Cpu,
    geometry: Geometry,
    image: Planes,
    weights: Weights,
    finish: Finish,
    batch: hl.Expr | None,
    bias: hl.ImageParam | None = None,
) -> hl.Func:
    (height, width), channels, pool, lanes = geometry.out(), geometry.out_channels, geometry.pool, cpu.lanes
    (taps_down, taps_across), in_channels = geometry.kernel_size, geometry.in_channels
    (stride_down, stride), (dilation_down, dilation) = geometry.window.stride, geometry.window.dilation
    block, vectors, most_rows = _tile_of_pixels(cpu, geometry)
    rows = min(tile(height, 1, most_rows, block)[0], 8)

    c, o, x, y, n, i, j, f = (hl.Var(name) for name in "coxynijf")
    xo, yo = hl.Var("xo"), hl.Var("yo")
    window = hl.RDom([(0, in_channels), (0, taps_across), (0, taps_down)])
    sums, planar, out = hl.Func("sums"), hl.Func("planar"), hl.Func("out")
    sums[x, i, j, c, y, n] = hl.cast(type_of(weights(c, window.x, window.y, window.z)), 0) if bias is None else bias[c]
    row = (pool * y + j) * stride_down + window.z * dilation_down
    sums[x, i, j, c, y, n] += weights(c, window.x, window.y, window.z) * image.at(
        window.x, (x, i * stride + window.y * dilation), row, n
    )
    # Rows of whole vectors on the stack first: their channels are shuffled together there, as scattered stores would
    # take longer.
    planar[c, x, y, n] = together(
        finish([sums[x, across, down, c, y, n] for down in range(pool) for across in range(pool)])
    )
    one = planar[c, x, y, n]
    out[c, x, y, n] = hl.Tuple([one[0], one[1]]) if planar.outputs() > 1 else one

    guard, inwards, computed = hl.TailStrategy.GuardWithIf, hl.TailStrategy.ShiftInwards, _computed(cpu, geometry)
    out.bound(c, 0, channels).bound(x, 0, width).bound(y, 0, height).split(y, yo, y, rows, inwards).fuse(c, x, f)
    out.reorder(f, y, yo, n).vectorize(f, min(lanes, power(channels * width)), guard)
    if batch is not None:
        parallel(out, n, geometry.flops())
    store(planar.compute_at(out, yo).bound(c, 0, channels).bound(x, 0, computed), channels * computed * rows)
    planar.split(c, o, c, block, inwards).split(x, xo, x, lanes * vectors).reorder(x, c, y, xo, o, n)
    planar.vectorize(x, lanes).unroll(x).unroll(c).unroll(y)
    sums.compute_at(planar, xo).store_in(hl.MemoryType.Stack).reorder(x, i, j, c, y, n)
    update = sums.update().reorder(x, i, j, c, y, window.x, window.y, window.z, n)
    for stage in (sums, update):
        stage.vectorize(x, lanes).unroll(x).unroll(i).unroll(j).unroll(c).unroll(y)
    if taps_across <= 8 and in_channels == 1:
        update.unroll(window.y)
    image.compute_at(out, n)
    return out


def _tile_of_pixels(cpu: Cpu, geometry: Geometry) -> tuple[int, int, int]:
    """(channels, vectors of pixels, most rows) that are summed at a time."""
    # Besides the sums, one vector of pixels for each pixel of a pooling window, and a weight, stay in registers.
    most = max(min(accumulators(cpu), cpu.registers - 1 - geometry.pool**2) // geometry.pool**2, 1)
    block = -(-geometry.out_channels // -(-geometry.out_channels // most))
    vectors = 2 if geometry.out()[1] % (2 * cpu.lanes) == 0 and 2 * block <= most else 1
    return block, vectors, max(most // (block * vectors), 1)


def _computed(cpu: Cpu, geometry: Geometry) -> int:
    """A row of y in whole vectors."""
    return round_up(geometry.out()[1], cpu.lanes * _tile_of_pixels(cpu, geometry)[1])


def _by_taps(cpu: Cpu, geometry: Geometry, derivative: Derivative, weight: hl.ImageParam) -> hl.Func:
    lanes, stack, guard = cpu.lanes, hl.MemoryType.Stack, hl.TailStrategy.GuardWithIf
    (taps_down, taps_across), channels, filters = geometry.kernel_size, geometry.in_channels, geometry.out_channels
    (rows, columns), width, (left, _, top, _) = geometry.pooled_extent(), geometry.size[1], geometry.window.padding
    taps = taps_across * channels
    vectors = round_up(taps, lanes) // lanes
    block = -(-vectors // -(-vectors // (2 if cpu.registers < 32 else 4)))
    wide = round_up(vectors, block) * lanes
    pixels = divisor(columns, (cpu.registers - 4) // block)
    t, c, k, x, y, n, f, to, xo = (hl.Var(name) for name in ("t", "c", "k", "x", "y", "n", "f", "to", "xo"))
    dz, bank, products, each, rows_of, dx = (
        hl.Func(name) for name in ("dz", "bank", "products", "each", "rows_of", "dx")
    )

    dz[c, x, y, n] = derivative.at(c, x, y, n)
    tap = hl.min(t, taps - 1)
    bank[t, c, k] = hl.select(t < taps, weight[tap % channels, tap / channels, k, c], 0)
    r = hl.RDom([(0, filters), (0, taps_down)])
    r.where((y - r.y >= 0) & (y - r.y < rows))
    products[t, x, y, n] += dz[r.x, x, hl.clamp(y - r.y, 0, rows - 1), n] * bank[t, r.x, r.y]
    each[t, x, y, n] = hl.select(t < taps, products[t, x, y, n], 0)  # beyond the taps it is 0·dz, which may be NaN
    # Kernels ``taps_across`` pixels apart touch without overlapping: that many rows of them, stored side by side, are
    # added up.
    turns = -(-columns // taps_across)
    rx = hl.RDom([(0, wide), (0, turns)])
    column = rx.y * taps_across + k
    rx.where(column < columns)
    rows_of[f, k, y, n] = hl.cast(weight.type(), 0)
    rows_of[rx.x + channels * column, k, y, n] = each[rx.x, hl.min(column, columns - 1), y, n]
    first, *others = (rows_of[(x + left) * channels + c, place, y + top, n] for place in range(taps_across))
    dx[c, x, y, n] = sum(others, first)

    length = round_up(
        max((turns * taps_across - 1) * channels + wide, channels * left + round_up(width * channels, lanes)), lanes
    )
    parallel(dx.bound(c, 0, channels).bound(x, 0, width).fuse(c, x, f).vectorize(f, lanes, guard), n, geometry.flops())
    bank.compute_root().bound_extent(t, wide).vectorize(t, lanes)
    rows_of.compute_at(dx, y).store_in(stack).bound(f, 0, length).bound(k, 0, taps_across).vectorize(f, lanes)
    update = rows_of.update().reorder(rx.x, k, rx.y, y, n).allow_race_conditions().vectorize(rx.x, lanes)
    if wide // lanes * columns <= 64:
        update.unroll(rx.x).unroll(k).unroll(rx.y)
    store(each.compute_at(dx, y), wide * columns)
    each.split(t, to, t, block * lanes).split(x, xo, x, pixels).reorder(t, x, xo, to, y, n).vectorize(t, lanes).unroll(
        t
    ).unroll(x)
    products.compute_at(each, xo).vectorize(t, lanes).unroll(t).unroll(x)
    products.update().reorder(t, x, r.x, r.y, y, n).vectorize(t, lanes).unroll(t).unroll(x)
    if not derivative.is_dy:
        store(dz.compute_at(dx, n), filters * rows * columns)
        dz.vectorize(c, min(lanes, power(filters)), hl.TailStrategy.ShiftInwards)
    return dx


def finishing(activation: Activation, keeps: bool) -> Finish:
    """y, or y and the winner, from the z of one pooling window."""

    def finish(z: Sequence[hl.Expr]) -> list[hl.Expr]:
        return [activation.expression(z[0])] if len(z) == 1 else _largest(z, activation, keeps)

    return finish


def together(values: list[hl.Expr]) -> hl.Expr | hl.Tuple:
    """What a Func is defined by: one value, or a Tuple of several."""
    return values[0] if len(values) == 1 else hl.Tuple(values)


def _largest(z: Sequence[hl.Expr], activation: Activation, keeps: bool) -> list[hl.Expr]:
    """(y, which one it came from), or y alone: NaN never wins, the first of equals does; -∞ and 0 if all are NaN."""
    lowest = type_of(z[0]).min()
    only_nan = nan.is_nan(z[0])
    best, which = hl.select(only_nan, lowest, z[0]), hl.i32(0)
    for number, each in enumerate(z[1:], 1):
        is_nan = nan.is_nan(each)
        only_nan, candidate = only_nan & is_nan, hl.select(is_nan, lowest, each)
        which = hl.select(candidate > best, hl.i32(number), which)
        best = hl.max(best, candidate)
    y = hl.select(only_nan, lowest, activation.expression(best))
    return [y, hl.cast(hl.UInt(8), which)] if keeps else [y]


def parallel(function: hl.Func, n: hl.Var, flops: int) -> None:
    """Images in tasks of about a million operations; a smaller batch is one task, which starts no thread."""
    chunk, images = hl.Var("chunk"), max(1, min(64, TASK // flops))
    function.split(n, chunk, n, images, hl.TailStrategy.GuardWithIf).parallel(chunk)
