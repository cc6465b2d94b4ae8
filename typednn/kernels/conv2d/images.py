"""Inputs of convolutions: images with a border, planes of single channels, and the derivative by a convolution's
output.

Copies in another layout are made image by image, in a thread's own memory, just before they are read. Where channels
are few, lanes lie along flat rows: number f = channels·column + channel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from typednn.engines import Cpu, hl, type_of
from typednn.kernels.activations import IDENTITY, Activation
from typednn.kernels.conv2d.geometry import Geometry, power, round_up

STACK = 64 * 1024  # bytes up to which a stage lies on the thread's stack; larger ones are allocated

# A number of an image, read by channel, column, row and the image's index in the batch.
Read: TypeAlias = "Callable[[hl.Expr | int, hl.Expr, hl.Expr, hl.Expr], hl.Expr]"
Column = TypeVar("Column")  # what a column is given by


@dataclass(frozen=True)
class Image(Generic[Column]):
    """``at`` reads a number, from planes as `_planes` says. ``stages`` have to be computed before, image by image."""

    at: Callable[[hl.Expr, Column, hl.Expr, hl.Expr], hl.Expr]
    stages: tuple[hl.Func, ...] = ()

    def compute_at(self, function: hl.Func, var: hl.Var | hl.RVar) -> None:
        for stage in self.stages:
            stage.compute_at(function, var)


Pixels: TypeAlias = "Image[hl.Expr]"
Planes: TypeAlias = "Image[tuple[hl.Expr, hl.Expr]]"  # column p·step + q by (p, q), see `_planes`


def pixels(x: hl.ImageParam | hl.Func) -> Read:
    """The numbers of an array."""
    return lambda channel, column, row, n: x[channel, column, row, n]


def bordered(cpu: Cpu, x: hl.ImageParam | hl.Func, geometry: Geometry) -> Pixels:
    """``x`` with the padding around it; ``x`` itself where there is none."""
    if not any(geometry.window.padding):
        return Image(pixels(x))
    left, _, top, _ = geometry.window.padding
    return _bordered(cpu, pixels(x), (*geometry.size, geometry.in_channels), (-top, -left), geometry.reach())


def _bordered(
    cpu: Cpu, read: Read, size: tuple[int, int, int], shift: tuple[int, int], reach: tuple[int, int]
) -> Pixels:
    """The image that ``read`` reads, of ``size`` (height, width, channels), with zeros around it; `_flat` says the
    rest.
    """
    height, width, channels = size
    image, r, n = hl.Func("bordered"), hl.RDom([(0, width * channels), (0, height)]), hl.Var("n")
    pixel = read(r.x % channels, r.x / channels, r.y, n)
    image[hl.Var("f"), hl.Var("y"), n] = hl.cast(type_of(pixel), 0)
    image[r.x, r.y, n] = pixel
    image.update().vectorize(r.x, min(cpu.lanes, power(width * channels)), hl.TailStrategy.GuardWithIf)
    return _flat(cpu, image, size, shift, reach)


def _flat(
    cpu: Cpu, image: hl.Func, size: tuple[int, int, int], shift: tuple[int, int], reach: tuple[int, int]
) -> Pixels:
    """``image`` in flat rows, zeros but for what an update writes: ``size`` of it, and ``reach`` rows and columns more.

    Pixel (column, row) lies ``shift`` = (rows, columns) further on.
    """
    height, width, channels = size
    image.vectorize(image.args()[0], cpu.lanes, hl.TailStrategy.RoundUp)
    store(image, (width + reach[1]) * channels * (height + reach[0]))
    return Image(
        lambda channel, column, row, n: image[(column + shift[1]) * channels + channel, row + shift[0], n], (image,)
    )


def filled_up(value: Callable[[hl.Expr], hl.Expr], channel: hl.Expr, channels: int, block: int) -> hl.Expr:
    """``value`` of a channel; 0 for channels that only fill up the last block."""
    if channels % block == 0:
        return value(channel)
    return hl.select(channel < channels, value(hl.min(channel, channels - 1)), 0)


def blocked(
    cpu: Cpu,
    read: Read,
    size: tuple[int, int, int],
    block: int,
    padding: tuple[int, int, int, int] = (0, 0, 0, 0),
) -> Pixels:
    """The image that ``read`` reads, of ``size`` (height, width, channels), with zeros around it, in blocks of
    channels.

    Channels that only fill up the last block are 0.
    """
    height, width, channels = size
    left, right, top, bottom = padding
    count = -(-channels // block)
    c, x, y, o, n = (hl.Var(name) for name in "cxyon")
    image, lanes = hl.Func("blocked"), min(cpu.lanes, power(block))

    def value(c: hl.Expr, x: hl.Expr, y: hl.Expr, o: hl.Expr) -> hl.Expr:
        return filled_up(lambda channel: read(channel, x, y, n), o * block + c, channels, block)

    if any(padding):
        r = hl.RDom([(0, block), (0, width), (0, height), (0, count)])
        pixel = value(r.x, r.y, r.z, r.w)
        image[c, x, y, o, n] = hl.cast(type_of(pixel), 0)
        image[r.x, r.y + left, r.z + top, r.w, n] = pixel
        image.update().vectorize(r.x, lanes, hl.TailStrategy.GuardWithIf)
        if block > lanes:
            image.update().unroll(r.x)
    else:
        image[c, x, y, o, n] = value(c, x, y, o)
    image.bound(c, 0, block).vectorize(c, lanes, hl.TailStrategy.ShiftInwards)
    store(image, block * count * (width + left + right) * (height + top + bottom))
    return Image(lambda channel, column, row, n: image[channel % block, column, row, channel / block, n], (image,))


class Derivative(NamedTuple):
    """dz, the derivative by what the convolution makes: dy through the activation, at the winner of each pooling
    window, 0 elsewhere.

    ``kept`` is what forward leaves: y, unless the activation is the identity, and the winners, where something is
    pooled.
    """

    dy: hl.ImageParam
    kept: Sequence[hl.ImageParam]
    geometry: Geometry
    activation: Activation

    def vjp(self, channel: hl.Expr | int, column: hl.Expr, row: hl.Expr, n: hl.Expr) -> hl.Expr:
        """dy through the activation: its vector-Jacobian product."""
        dy = self.dy[channel, column, row, n]
        if self.activation == IDENTITY:
            return dy
        return self.activation.gradient_expression(dy, self.kept[0][channel, column, row, n])

    def at(self, channel: hl.Expr | int, column: hl.Expr, row: hl.Expr, n: hl.Expr) -> hl.Expr:
        """dz at a pixel that some pooling window meets."""
        pool = self.geometry.pool
        place = channel, column / pool, row / pool, n
        return self.part(self.vjp(*place), self.winner(*place), column % pool, row % pool)

    def winner(self, channel: hl.Expr | int, column: hl.Expr, row: hl.Expr, n: hl.Expr) -> hl.Expr:
        """The index of the largest pixel of a pooling window."""
        if self.geometry.pool == 1:
            return hl.i32(0)
        return hl.cast(hl.Int(32), self.kept[-1][channel, column, row, n])

    def part(self, vjp: hl.Expr, winner: hl.Expr, across: hl.Expr, down: hl.Expr) -> hl.Expr:
        """dz at pixel (across, down) of a pooling window, from what `vjp` and `winner` give."""
        pool = self.geometry.pool
        return vjp if pool == 1 else hl.select(winner == across + pool * down, vjp, 0)

    @property
    def is_dy(self) -> bool:
        """Whether dz is dy itself."""
        return self.activation == IDENTITY and self.geometry.pool == 1

    def planes(self, cpu: Cpu, columns: int) -> Planes:
        """As `bordered`, in planes."""
        geometry, transposed = self.geometry, self.geometry.transposed()
        before = geometry.reach()[0] - geometry.window.padding[2], geometry.reach()[1] - geometry.window.padding[0]
        return _planes(cpu, self.at, transposed, geometry.pooled_extent(), before, columns + _beyond(transposed))

    def bordered(self, cpu: Cpu) -> Pixels:
        """dz with zeros around it, for a convolution with the reversed weights, whose pixel (x, y) is dx at (x, y)."""
        geometry, pool = self.geometry, self.geometry.pool
        (down, across), (left, _, top, _) = geometry.reach(), geometry.window.padding
        (rows, columns), channels = geometry.pooled_extent(), geometry.out_channels
        if self.is_dy and geometry.reach() == (0, 0) and not any(geometry.window.padding):
            return Image(self.at)
        layout = (rows, columns, channels), (top - down, left - across), (2 * down, 2 * across)
        if pool == 1:
            return _bordered(cpu, self.vjp, *layout)
        image, n = hl.Func("dz"), hl.Var("n")
        r = hl.RDom([(0, channels), (0, pool), (0, columns // pool), (0, pool), (0, rows // pool)])
        c, i, column, j, row = (r[axis] for axis in range(5))
        image[hl.Var("f"), hl.Var("y"), n] = hl.cast(self.dy.type(), 0)
        dz = self.part(self.vjp(c, column, row, n), self.winner(c, column, row, n), i, j)
        image[(column * pool + i) * channels + c, row * pool + j, n] = dz
        # No race: each number is written once, which Halide can't see.
        lanes = min(cpu.lanes, power(channels))
        image.update().allow_race_conditions().vectorize(c, lanes, hl.TailStrategy.GuardWithIf).unroll(i)
        return _flat(cpu, image, *layout)


def _planes(
    cpu: Cpu, read: Read, geometry: Geometry, source: tuple[int, int], before: tuple[int, int], length: int
) -> Planes:
    """An image by planes of one channel each, for lanes along its columns.

    Neighbouring windows lie ``step`` columns apart, so the columns are split into ``step`` parts: ``at(channel, (p, q),
    row, n)`` is column p·step + q, where q is known when the kernel is made. ``length`` columns of each part can be
    read. ``read`` reads an image of size ``source``, which lies ``before`` = (rows, columns) inside the padded image.
    """
    step = geometry.pool * geometry.window.stride[1]
    channels, rows, (above, left) = geometry.in_channels, geometry.size[0] + sum(geometry.window.padding[2:]), before
    length = round_up(length, cpu.lanes)
    plane, split = hl.Func("plane"), hl.Func("split")
    p, q, m, y, n, j = (hl.Var(name) for name in ("p", "q", "m", "y", "n", "j"))
    image: Planes = Image(lambda channel, column, row, n: plane[column[0] + column[1], channel, row, n], (plane,))
    if step == channels == 1 and before == (0, 0) and length <= source[1]:
        plane[j, m, y, n] = read(0, j, y, n)
        return Image(image.at)
    x0, y0 = max(-left, 0), max(-above, 0)
    x1, y1 = max(min(source[1], length * step - left), x0), max(min(source[0], rows - above), y0)
    r = hl.RDom([(x0, x1 - x0), (0, channels), (y0, y1 - y0)])
    pixel = read(r.y, r.x, r.z, n)
    plane[j, m, y, n] = hl.cast(type_of(pixel), 0)
    plane[r.x + left, r.y, r.z + above, n] = pixel
    plane.bound(j, 0, length * step).bound(m, 0, channels).bound(y, 0, rows).vectorize(j, cpu.lanes)
    plane.update().vectorize(r.x, cpu.lanes, hl.TailStrategy.GuardWithIf)
    if step > 1:
        split[p, q, m, y, n] = plane[p * step + q, m, y, n]
        split.bound(p, 0, length).bound(q, 0, step).bound(y, 0, rows).bound(m, 0, channels).vectorize(
            p, cpu.lanes
        ).unroll(q)
        image = Image(
            lambda channel, column, row, n: split[column[0] + column[1] / step, column[1] % step, channel, row, n],
            (plane, split),
        )
    for stage in image.stages:
        store(stage, length * step * channels * rows)
    return image


def planes(cpu: Cpu, x: hl.ImageParam | hl.Func, geometry: Geometry, columns: int) -> Planes:
    """``x`` with the padding around it, as `_planes`; each tap can read ``columns`` columns of its part."""
    before = geometry.window.padding[2], geometry.window.padding[0]
    return _planes(cpu, pixels(x), geometry, geometry.size, before, columns + _beyond(geometry))


def _beyond(geometry: Geometry) -> int:
    """How far the last tap reads beyond the first, in columns of a part."""
    step = geometry.window.stride[1]
    return ((geometry.pool - 1) * step + geometry.reach()[1]) // (geometry.pool * step)


def store(function: hl.Func, numbers: int) -> None:
    """Keep ``function``, of so many ``numbers``, on the stack where they are few."""
    if function.types()[0].bytes() * numbers <= STACK:
        function.store_in(hl.MemoryType.Stack)
