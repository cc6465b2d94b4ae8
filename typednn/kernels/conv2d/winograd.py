"""Winograd's convolution of 3x3 windows at stride 1 in Halide: 16 multiplications for the 36 of a tile of 2x2 outputs.

    y = Aᵀ((G w Gᵀ) ⊙ (Bᵀ x B)) A    dw = Gᵀ((Bᵀ x B) ⊙ (A dz Aᵀ)) G
    dx is the convolution of dz with the reversed weights

x is the 4x4 pixels that a tile's windows cover, w a window's weights, dz the tile's derivatives; ⊙ multiplies place by
place and sums over channels (in dw over tiles), so each of the 16 places is a matrix product. A task transforms some
tiles, multiplies them while they are in the cache, and transforms the products back; in dw threads share the places of
some tiles, one group of tiles after another.

Rounding: an output has the error of the largest of its tile's 16 pixels, where a direct convolution has that of its own
9. An infinite pixel, and NaN, makes other outputs of its tile NaN as well: that is found in the first channel, and all
is computed directly instead.

In memory: 4 times the pixels and the outputs of the tiles under way (about 64 for a thread; for dw 128 or more in all),
and 16/9 of the weights.
Source: Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015, F(2x2, 3x3); dw is the derivative of
their y.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from typednn.arrays import AnyIntArray, Array1, Array4
from typednn.engines import Cpu, hl, nan, specialised, type_of
from typednn.engines.dispatch import FLOAT32
from typednn.kernels.activations import Activation
from typednn.kernels.conv2d import cpu as directly
from typednn.kernels.conv2d import reference
from typednn.kernels.conv2d.direct import Finish, Weights, finishing, together
from typednn.kernels.conv2d.dweight import Images, build_dbias, images_of, type_of_part
from typednn.kernels.conv2d.geometry import Geometry, Window, divisor, rows_of_tile
from typednn.kernels.conv2d.images import Derivative, Read, pixels

_TASK = 64  # tiles of one task, which share the weights that are read for them
_DEPTH = 128  # tiles that are added up in registers
_LANES = 16  # channels are multiples of the lanes of any machine
_LEAST_CHANNELS = 32  # from which products take longer than what surrounds them
_LEAST_TILES = 128  # of a batch, from which transforming the weights pays
_AT_A_TIME = 1 << 20  # numbers of the tiles that threads share in dw

# --------------------------------------------------------- the matrices, by the axis of a tile that they are applied to


def _pixels(place: hl.Expr, x: Sequence[hl.Expr]) -> hl.Expr:
    """Bᵀx."""
    return hl.mux(place, [x[0] - x[2], x[1] + x[2], x[2] - x[1], x[1] - x[3]])


def _bank(place: hl.Expr, w: Sequence[hl.Expr]) -> hl.Expr:
    """Gw."""
    half = hl.cast(type_of(w[0]), 0.5)
    return hl.mux(place, [w[0], (w[0] + w[1] + w[2]) * half, (w[0] - w[1] + w[2]) * half, w[2]])


def _outputs(place: hl.Expr, y: Sequence[hl.Expr]) -> hl.Expr:
    """Aᵀy."""
    return hl.mux(place, [y[0] + y[1] + y[2], y[1] - y[2] - y[3]])


def _of_outputs(place: hl.Expr, dz: Sequence[hl.Expr]) -> hl.Expr:
    """A dz."""
    return hl.mux(place, [dz[0], dz[0] + dz[1], dz[0] - dz[1], -dz[1]])


def _of_bank(place: hl.Expr, w: Sequence[hl.Expr]) -> hl.Expr:
    """Gᵀw."""
    half = hl.cast(type_of(w[0]), 0.5)
    return hl.mux(place, [w[0] + (w[1] + w[2]) * half, (w[1] - w[2]) * half, (w[1] + w[2]) * half + w[3]])


class _Transformed(NamedTuple):
    """Both axes of a tile transformed: ``both`` from ``one``, in which only the first is. They run over channel, i, j,
    and others.
    """

    one: hl.Func
    both: hl.Func


def _transformed(
    name: str,
    matrix: Callable[[hl.Expr, Sequence[hl.Expr]], hl.Expr],
    size: int,
    read: Callable[[hl.Expr, int, int], hl.Expr],
    *others: hl.Var,
) -> _Transformed:
    """``matrix`` applied along both axes of what ``read`` gives by channel, column and row of a tile of ``size``."""
    c, i, j = (hl.Var(axis) for axis in "cij")
    one, both = hl.Func(f"{name}_across"), hl.Func(name)
    one[(c, i, j, *others)] = hl.mux(j, [matrix(i, [read(c, q, row) for q in range(size)]) for row in range(size)])
    both[(c, i, j, *others)] = matrix(j, [one[(c, i, q, *others)] for q in range(size)])
    return _Transformed(one, both)


# ------------------------------------------------------------------ kernels


def _tile_of(geometry: Geometry, t: hl.Expr) -> tuple[hl.Expr, hl.Expr, hl.Expr]:
    """Column and row of the first output of tile ``t`` of the batch, and its image."""
    down, across = tiles(geometry)
    place = t % (down * across)
    return 2 * (place % across), 2 * (place / across), t / (down * across)


def _within(read: Read, size: tuple[int, int], batch: hl.Expr) -> Read:
    """``read``, and 0 around an image of ``size`` (height, width). Tiles beyond the batch read its last image."""
    height, width = size

    def inside(c: hl.Expr | int, column: hl.Expr, row: hl.Expr, n: hl.Expr) -> hl.Expr:
        value = read(c, hl.clamp(column, 0, width - 1), hl.clamp(row, 0, height - 1), hl.min(n, batch - 1))
        return hl.select((column >= 0) & (column < width) & (row >= 0) & (row < height), value, 0)

    return inside


def _covered(cpu: Cpu, name: str, geometry: Geometry, read: Read, shift: tuple[int, int]) -> _Transformed:
    """Bᵀx B of the pixels that each tile covers, by channel, i, j and tile; ``shift``: columns and rows of zeros before
    the image.
    """
    t = hl.Var("t")
    column, row, n = _tile_of(geometry, t)
    return _transformed(name, _pixels, 4, lambda c, i, j: read(c, column + i - shift[0], row + j - shift[1], n), t)


def _schedule(cpu: Cpu, found: _Transformed) -> None:
    """Lanes along the channels; all places of a tile, some channels at a time."""
    c, i, j, t = found.both.args()
    co = hl.Var("co")
    found.both.split(c, co, c, cpu.lanes).reorder(c, i, j, co, t).vectorize(c).unroll(i).unroll(j)
    found.one.compute_at(found.both, co).store_in(hl.MemoryType.Stack).vectorize(c, cpu.lanes).unroll(i).unroll(j)


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
    """y, or y and winners, as `direct.build_forward`; with pooling NaN where a z is not finite."""

    def weights(c: hl.Expr, r: hl.Expr, k: hl.Expr, l: hl.Expr) -> hl.Expr:  # noqa: E741
        return weight[r, k, l, c]

    batch = x.dim(3).extent()
    (left, _, top, _), read = geometry.window.padding, _within(pixels(x), geometry.size, batch)
    return _convolved(cpu, geometry, read, (left, top), weights, True, finishing(activation, keeps), batch, bias)


def build_dx(
    cpu: Cpu,
    dy: hl.ImageParam,
    weight: hl.ImageParam,
    *kept: hl.ImageParam,
    geometry: Geometry,
    activation: Activation,
) -> hl.Func:
    """dx, as `direct.build_dx`."""
    derivative, batch = Derivative(dy, kept, geometry, activation), dy.dim(3).extent()

    def weights(c: hl.Expr, r: hl.Expr, k: hl.Expr, l: hl.Expr) -> hl.Expr:  # noqa: E741
        return weight[c, 2 - k, 2 - l, r]

    (left, _, top, _), (height, width) = geometry.window.padding, geometry.size
    reversed_ = Geometry((height + 2, width + 2), geometry.out_channels, geometry.in_channels, (3, 3))
    read = _within(derivative.at, geometry.pooled_extent(), batch)
    return _convolved(cpu, reversed_, read, (2 - left, 2 - top), weights, False, list, batch)


def _convolved(
    cpu: Cpu,
    geometry: Geometry,
    read: Read,
    shift: tuple[int, int],
    weights: Weights,
    by_inputs: bool,
    finish: Finish,
    batch: hl.Expr,
    bias: hl.ImageParam | None = None,
) -> hl.Func:
    (height, width), (down, across), pool, lanes = geometry.out(), tiles(geometry), geometry.pool, cpu.lanes
    channels, stack, guard = geometry.out_channels, hl.MemoryType.Stack, hl.TailStrategy.GuardWithIf
    vectors, rows = _product_tile(cpu, channels)
    block = vectors * lanes
    c, r, i, j, t, o, x, y, n, k, l = (hl.Var(name) for name in "crijtoxynkl")  # noqa: E741
    to, co, ro, xi, yi, no, yo, task = (hl.Var(name) for name in ("to", "co", "ro", "xi", "yi", "no", "yo", "task"))

    near, z, total, out = (hl.Func(name) for name in ("near", "z", "total", "out"))
    near[r, k, l, c, o] = weights(o * block + c, r, k, l)

    def weight_of(channel: hl.Expr, i: int, j: int) -> hl.Expr:
        return near[r, i, j, channel, o]

    bank = _transformed("bank", _bank, 3, weight_of, r, o)
    covered = _covered(cpu, "pixels", geometry, read, shift)
    over = hl.RDom([(0, geometry.in_channels)])
    total[c, i, j, t, o] += bank.both[c, i, j, over, o] * covered.both[over, i, j, t]
    z[c, i, j, t, o] = total[c, i, j, t, o]
    outputs = _transformed("outputs", _outputs, 4, lambda channel, i, j: z[channel, i, j, t, o], t, o)

    def value(column: hl.Expr, row: hl.Expr, i: hl.Expr | int, j: hl.Expr | int) -> hl.Expr:
        one = outputs.both[c % block, i, j, (n * down + row) * across + column, c / block]
        return one if bias is None else one + bias[c]

    values = (
        [value(x / 2, y / 2, x % 2, y % 2)] if pool == 1 else [value(x, y, i, j) for j in range(2) for i in range(2)]
    )
    first, *others = finish(values)
    if pool > 1:  # the largest of them would hide NaN
        first = hl.select(_finite(values), first, hl.cast(type_of(first), hl.f32(float("nan"))))
    out[c, x, y, n] = together([first, *others])

    step, images = 2 // pool, max(1, _TASK // (down * across))
    out.bound(c, 0, channels).bound(x, 0, width).bound(y, 0, height)
    out.split(n, no, n, images, guard).split(y, yo, y, step * max(1, min(down, _TASK // across)), guard)
    out.split(y, y, yi, step, guard).split(x, x, xi, step, guard).split(c, co, c, lanes)
    out.reorder(c, xi, yi, co, x, y, n, yo, no).vectorize(c).unroll(xi).unroll(yi).fuse(yo, no, task).parallel(task)
    for stage in outputs:
        stage.compute_at(out, co).store_in(stack).vectorize(stage.args()[0], lanes).unroll(stage.args()[1]).unroll(
            stage.args()[2]
        )
    z.compute_at(out, task).bound_extent(c, block).split(t, to, t, rows).reorder(c, t, to, o, i, j)
    z.vectorize(c, lanes).unroll(c).unroll(t)
    total.compute_at(z, to).store_in(stack).vectorize(c, lanes).unroll(c).unroll(t)
    total.update().reorder(c, t, over, i, j, o).vectorize(c, lanes).unroll(c).unroll(t).unroll(over, 4)
    covered.both.compute_at(out, task)
    _schedule(cpu, covered)
    of_bank, i, j, r, o = bank.both.args()
    bank.both.compute_root().bound_extent(of_bank, block).bound(r, 0, geometry.in_channels)
    bank.both.split(of_bank, co, of_bank, lanes).split(r, ro, r, lanes).reorder(of_bank, i, j, r, ro, co, o)
    bank.both.vectorize(of_bank).unroll(i).unroll(j).parallel(o)
    # weights of neighbouring input channels lie side by side: some of them are copied, and transformed from there
    if by_inputs:
        near.compute_at(bank.both, ro).store_in(stack).vectorize(near.args()[0], lanes).unroll(k).unroll(l)
    bank.one.compute_at(bank.both, r).store_in(stack).vectorize(bank.one.args()[0], lanes).unroll(i).unroll(j)
    return out


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
    """dweight, and dbias if ``biased``, as `dweight.build_dweight`; lanes are input channels."""
    derivative, batch, lanes = Derivative(dy, kept, geometry, activation), x.dim(3).extent(), cpu.lanes
    (down, across), stack = tiles(geometry), hl.MemoryType.Stack
    in_channels, out_channels = geometry.in_channels, geometry.out_channels
    vectors, filters = _product_tile(cpu, in_channels, lambda count: divisor(out_channels, count))
    blocks = max(1, _AT_A_TIME // (16 * max(in_channels, out_channels) * _DEPTH))
    c, i, j, t, f, g, k, l = (hl.Var(name) for name in "cijtfgkl")  # noqa: E741
    co, fo, task = (hl.Var(name) for name in ("co", "fo", "task"))

    (left, _, top, _) = geometry.window.padding
    covered = _covered(cpu, "pixels", geometry, _within(pixels(x), geometry.size, batch), (left, top))
    column, row, n = _tile_of(geometry, t)
    read = _within(derivative.at, geometry.pooled_extent(), batch)
    dz = _transformed("dz", _of_outputs, 2, lambda c, i, j: hl.select(n < batch, read(c, column + i, row + j, n), 0), t)

    tile, part, total, dweight = (hl.Func(name) for name in ("tile", "part", "total", "dweight"))
    count = (batch * (down * across) + _DEPTH - 1) / _DEPTH
    over, of_part = hl.RDom([(0, _DEPTH)]), hl.RDom([(0, blocks), (0, (count + blocks - 1) / blocks)])
    of_part.where(of_part.y * blocks + of_part.x < count)
    tile[c, f, i, j, g] += covered.both[c, i, j, g * _DEPTH + over] * dz.both[f, i, j, g * _DEPTH + over]
    part[c, f, i, j] += hl.cast(type_of_part(x, images), tile[c, f, i, j, of_part.y * blocks + of_part.x])
    total[c, f, i, j] = hl.cast(x.type(), part[c, f, i, j])
    bank = _transformed("bank", _of_bank, 4, lambda channel, i, j: total[channel, f, i, j], f)
    dweight[c, k, l, f] = bank.both[c, k, l, f]

    dweight.bound(c, 0, in_channels).bound(k, 0, 3).bound(l, 0, 3).bound(f, 0, out_channels)
    dweight.split(c, co, c, lanes).reorder(c, k, l, co, f).vectorize(c).unroll(k).unroll(l).parallel(f)
    for stage in (total, *bank):
        stage.compute_at(dweight, co).store_in(stack).vectorize(c, lanes).unroll(i).unroll(j)
    part.compute_root().bound_extent(c, in_channels).bound_extent(f, out_channels).vectorize(c, lanes).parallel(f)
    update = (
        part.update().split(c, co, c, vectors * lanes).split(f, fo, f, filters).vectorize(c, lanes).unroll(c).unroll(f)
    )
    update.reorder(c, f, fo, co, of_part.x, i, j, of_part.y).fuse(i, j, task).parallel(task)
    tile.compute_at(part, fo).store_in(stack).vectorize(c, lanes).unroll(c).unroll(f)
    tile.update().reorder(c, f, over).vectorize(c, lanes).unroll(c).unroll(f)
    for each in (covered, dz):
        channel, i, j, t = each.both.args()
        each.both.reorder_storage(channel, t, i, j).align_storage(
            channel, (in_channels if each is covered else out_channels) + 16
        )
        each.both.compute_at(part, of_part.y).parallel(t, 32)
        _schedule(cpu, each)
    return [dweight, *([build_dbias(cpu, derivative, geometry)] if biased else ())]


def _finite(values: Sequence[hl.Expr]) -> hl.Expr:
    """Whether all of them are numbers."""
    each = [nan.bits(value) < nan.infinity(value) for value in values]
    return each[0] if len(each) == 1 else each[0] & _finite(values[1:])


def _product_tile(cpu: Cpu, channels: int, fits: Callable[[int], int] = lambda count: count) -> tuple[int, int]:
    """Vectors of channels, which divide them, and of how many others, in a tile of a product whose sums stay in
    registers.
    """
    tiles = (
        (vectors, fits(rows_of_tile(cpu, vectors))) for vectors in range(1, 5) if channels // cpu.lanes % vectors == 0
    )
    return max(tiles, key=lambda tile: tile[0] * tile[1] / (tile[0] * tile[1] + sum(tile) + 2))


def tiles(geometry: Geometry) -> tuple[int, int]:
    """Tiles of an image, down and across."""
    height, width = geometry.pooled_extent()
    return -(-height // 2), -(-width // 2)


# ------------------------------------------------------------------ engine


def _geometry(image: tuple[int, int, int], weight: tuple[int, int, int, int], window: Window) -> Geometry | None:
    """The sizes, where there are kernels for them and these are faster than direct ones."""
    if not directly.covered(image, weight, window) or weight[1:3] != (3, 3) or window[:2] != ((1, 1), (1, 1)):
        return None
    geometry = directly.geometry_of(image, weight, window)
    (down, across), (height, width) = tiles(geometry), geometry.pooled_extent()
    channels = geometry.in_channels, geometry.out_channels
    pays = (
        geometry.groups == 1
        and geometry.pool <= 2
        and min(channels) >= _LEAST_CHANNELS
        and 5 * height * width >= 12 * down * across
    )
    return geometry if pays and not any(each % _LANES for each in channels) else None


def _images(geometry: Geometry) -> int:
    """Images of a batch from which transforming the weights pays."""
    down, across = tiles(geometry)
    return -(-_LEAST_TILES // (down * across))


Run = TypeVar("Run")


class Planned(NamedTuple, Generic[Run]):
    """What `cpu` runs, and for how many images at least."""

    run: Run
    images: int


def plan(
    x: Array4, weight: Array4, bias: Array1 | None, window: Window, activation: Activation, keeps: bool
) -> Planned[directly.Forward] | None:
    """The kernel of `forward` for these sizes; None where there is none, or direct convolution is faster."""
    planned = _forward[x.shape[1:], weight.shape, bias is not None, window, activation, keeps, x.dtype]
    return planned if planned is not None and len(x) >= planned.images else None


def forward(
    planned: Planned[directly.Forward],
    x: Array4,
    weight: Array4,
    bias: Array1 | None,
    window: Window,
    activation: Activation,
    keeps: bool,
) -> tuple[Array4, AnyIntArray | None]:
    """(y, winners)."""
    arguments = x, weight, bias, window, activation, keeps
    y, winners = directly.forward(planned.run, *arguments)
    if trusts(y):
        return y, winners
    direct = directly.plan(*arguments)
    if direct is None:  # too many sizes have kernels
        return reference.forward(*arguments)
    return directly.forward(direct, *arguments)


def trusts(images: Array4) -> bool:
    """Whether all are finite, by one channel of all pixels, and by all channels of one pixel."""
    return isfinite(np.add.reduce(images[..., 0], None)) and isfinite(np.add.reduce(images[0, 0, 0], None))


@specialised("conv2d", "image sizes")
def _forward(
    image: tuple[int, int, int],
    weight: tuple[int, int, int, int],
    biased: bool,
    window: Window,
    activation: Activation,
    keeps: bool,
    dtype: np.dtype[Any] = FLOAT32,
) -> Planned[directly.Forward] | None:
    geometry = _geometry(image, weight, window)
    if geometry is None:
        return None
    pools = keeps and geometry.pool > 1
    made = directly.forward_kernel(geometry, biased, activation, pools, dtype, build_forward)
    return Planned((made, (*geometry.out(), weight[0]), pools), _images(geometry))


def plan_backward(
    next_grad: Array4,
    x: Array4,
    weight: Array4,
    window: Window,
    activation: Activation,
    y: Array4 | None,
    winners: AnyIntArray | None,
    wants_input: bool,
    wants_bias: bool,
) -> Planned[directly.Planned] | None:
    """The kernels of `backward` for these sizes; None where there are none, or direct convolution is faster."""
    planned = _backward[
        x.shape[1:], weight.shape, window, activation, images_of(x.shape[0], weight.size), wants_bias, x.dtype
    ]
    return planned if planned is not None and len(x) >= planned.images else None


def trusts_backward(dx: Array4 | None, dweight: Array4) -> bool:
    """Whether all derivatives are finite."""
    return isfinite(np.add.reduce(dweight, None)) and (dx is None or trusts(dx))


def backward(planned: Planned[directly.Planned], *arguments: Any) -> tuple[Array4 | None, Array4, Array1 | None]:
    """(dx, dweight, dbias), as `cpu.backward`."""
    dx, dweight, dbias = directly.backward(planned.run, *arguments)
    if trusts_backward(dx, dweight):
        return dx, dweight, dbias
    direct = directly.plan_backward(*arguments)
    if direct is not None:
        return directly.backward(direct, *arguments)
    products = directly.plan_by_products(*arguments)
    if products is not None:
        return directly.backward_by_products(products, *arguments)
    return reference.backward(*arguments)


@specialised("conv2d", "image sizes")
def _backward(
    image: tuple[int, int, int],
    weight: tuple[int, int, int, int],
    window: Window,
    activation: Activation,
    images: Images,
    biased: bool,
    dtype: np.dtype[Any] = FLOAT32,
) -> Planned[directly.Planned] | None:
    geometry = _geometry(image, weight, window)
    if geometry is None:
        return None
    of_weight = directly.dweight_kernel(geometry, activation, images, dtype, biased, build_dweight)
    return Planned(
        directly.Planned(of_weight, directly.dx_kernel(geometry, activation, dtype, build_dx), False), _images(geometry)
    )
