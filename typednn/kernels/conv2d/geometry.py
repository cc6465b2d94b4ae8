"""The sizes of a convolution, and the tiles and tasks that follow from them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from typednn.engines import Cpu
from typednn.kernels.windows import Pair, output_sizes

FEW_IMAGES = 4  # below so many, threads share each image
LATENCY = 8  # multiplications that have to be under way at once: two a cycle, of four cycles each


class Window(NamedTuple):
    """The windows of a convolution and of the pooling after it. Pairs are (height, width)."""

    stride: Pair = (1, 1)
    dilation: Pair = (1, 1)
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)  # zeros around the image: left, right, top, bottom
    # size, stride and dilation of the pooling's windows; None: no pooling
    pooling: tuple[Pair, Pair, Pair] | None = None

    @property
    def side_by_side(self) -> bool:
        """Whether compiled kernels include the pooling: windows of 2x2 or 3x3 that touch without
        overlapping, or none.
        """
        return self.pooling in (None, ((2, 2), (2, 2), (1, 1)), ((3, 3), (3, 3), (1, 1)))

    def padded(self, size: Pair) -> Pair:
        """Height and width of images of ``size`` with the zeros around them."""
        left, right, top, bottom = self.padding
        return size[0] + top + bottom, size[1] + left + right

    def convolved(self, size: Pair, kernel_size: Pair) -> Pair:
        """Height and width of what the convolution makes of images of ``size``."""
        return output_sizes(self.padded(size), kernel_size, self.stride, self.dilation)

    def out(self, size: Pair, kernel_size: Pair) -> Pair:
        """Height and width of y: after the pooling, where there is one."""
        convolved = self.convolved(size, kernel_size)
        return convolved if self.pooling is None else output_sizes(convolved, *self.pooling)


class Geometry(NamedTuple):
    """All sizes of a convolution but the batch's: an option of its kernels. Pairs are (height, width)."""

    size: Pair
    in_channels: int
    out_channels: int
    kernel_size: Pair
    window: Window = Window()
    groups: int = 1  # output channels of a group read input channels of that group only

    @property
    def pool(self) -> int:
        """The windows that are pooled are ``pool`` x ``pool``, side by side; 1 for no pooling."""
        return 1 if self.window.pooling is None else self.window.pooling[0][0]

    @property
    def of_group(self) -> Pair:
        """The input and the output channels of a group."""
        return self.in_channels // self.groups, self.out_channels // self.groups

    @property
    def depthwise(self) -> bool:
        """Whether there are groups, and each reads one channel."""
        return 1 < self.groups == self.in_channels

    def convolved(self) -> Pair:
        """Height and width of what the convolution makes."""
        return self.window.convolved(self.size, self.kernel_size)

    def out(self) -> Pair:
        """Height and width of y: after the pooling, where there is one."""
        return self.window.out(self.size, self.kernel_size)

    def pooled_extent(self) -> Pair:
        """Height and width of the part of `convolved` that lies in pooling windows."""
        height, width = self.out()
        return height * self.pool, width * self.pool

    def reach(self) -> Pair:
        """How far the last tap lies from the first."""
        return self.window.dilation[0] * (self.kernel_size[0] - 1), self.window.dilation[1] * (self.kernel_size[1] - 1)

    def flops(self) -> int:
        """Operations for one image."""
        height, width = self.pooled_extent()
        return (
            2
            * height
            * width
            * self.kernel_size[0]
            * self.kernel_size[1]
            * self.in_channels
            * self.out_channels
            // self.groups
        )

    def transposed(self) -> Geometry:
        """The convolution that dx is at stride 1: of dy with a border around it, with the reversed weights."""
        size = self.size[0] + self.reach()[0], self.size[1] + self.reach()[1]
        return Geometry(
            size,
            self.out_channels,
            self.in_channels,
            self.kernel_size,
            Window(dilation=self.window.dilation),
            self.groups,
        )


def within_group(cpu: Cpu, channels: int, groups: int) -> Cpu:
    """``cpu``, with so many lanes as divide the ``channels`` of each group, so that those of a vector read the same
    channels.
    """
    return cpu if groups == 1 else replace(cpu, lanes=math.gcd(cpu.lanes, channels))


def cost_by_channels(cpu: Cpu, channels: int) -> float:
    """Lanes computed for each one used, along channels."""
    return round_up(channels, cpu.lanes) / channels


def cost_by_pixels(cpu: Cpu, columns: int, in_channels: int) -> float:
    """Lanes computed for each one used, along a row of pixels; plus the cost of turning channels, if there are several,
    into planes.
    """
    return (1.15 if in_channels == 1 else 1.25) * round_up(columns, cpu.lanes) / columns


def cost_by_taps(cpu: Cpu, geometry: Geometry) -> float:
    """Lanes computed for each one used, along the weights of a row of a window; plus the cost of adding up overlaps."""
    taps = geometry.kernel_size[1] * geometry.in_channels
    if geometry.window.dilation != (1, 1) or taps > 4 * cpu.lanes:
        return float("inf")
    return 1.15 * round_up(taps, cpu.lanes) / taps


def accumulators(cpu: Cpu) -> int:
    """The number of registers for sums; the others hold factors."""
    return cpu.registers - max(4, cpu.registers // 4)


def tile(width: int, height: int, most: int, vectors: int, pool: int = 1) -> tuple[int, int, float]:
    """Columns and rows of y in a tile of at most ``most`` pixels of the convolution, with the least work for the whole
    image; and this.
    """

    def cost(columns: int, rows: int) -> float:
        pixels = columns * rows * pool**2
        # Each step of a tile multiplies, and loads what it multiplies: weights once per tile, pixels once per tap.
        return -(-width // columns) * -(-height // rows) * (pixels * vectors + vectors + 0.5 * pixels + 2)

    most //= pool**2
    tiles = [
        (columns, rows)
        for columns in range(1, min(width, max(most, 1)) + 1)
        for rows in range(1, min(height, max(most // columns, 1)) + 1)
    ]
    columns, rows = min(tiles, key=lambda tile: (cost(*tile), tile[1]))
    return columns, rows, cost(columns, rows)


def _vectors(cpu: Cpu, channels: int, groups: int, most: int = 4) -> list[int]:
    """How many vectors of a group's ``channels`` a tile may have: at most ``most``, and no tile lies in two groups."""
    return [
        each
        for each in range(1, min(4, most, -(-channels // cpu.lanes)) + 1)
        if groups == 1 or channels // cpu.lanes % each == 0
    ]


def tile_of_channels(
    cpu: Cpu, channels: int, width: int, height: int, pool: int, groups: int = 1
) -> tuple[int, int, int]:
    """Vectors of a group's ``channels``, columns and rows of a tile, with the least work for an image.

    Sums, one vector of weights for each vector of sums, and a pixel stay in registers.
    """

    def work(vectors: int) -> tuple[float, int]:
        return -(-channels // (vectors * cpu.lanes)) * tile(width, height, rows_of_tile(cpu, vectors), vectors, pool)[
            2
        ], vectors

    most = max(accumulators(cpu) // pool**2, 1)
    vectors = min(_vectors(cpu, channels, groups, most), key=work)
    columns, rows, _ = tile(width, height, rows_of_tile(cpu, vectors), vectors, pool)
    return vectors, columns, rows


def tile_of_weights(
    cpu: Cpu, channels: int, others: int, fits: Callable[[int], bool], groups: int = 1
) -> tuple[int, int]:
    """Vectors of a group's ``channels``, and how many of the ``others`` they are multiplied with, in a tile of dweight.

    ``fits`` says which numbers of them may be.
    """

    def work(tile: tuple[int, int]) -> tuple[float, int]:
        vectors, count = tile
        # A multiplication takes as long as those of LATENCY vectors, so fewer sums wait.
        step = max(vectors * count, LATENCY) + vectors + count + 2
        return -(-channels // (vectors * cpu.lanes)) * (others // count) * step, vectors

    tiles = (
        (vectors, max(count for count in range(1, rows_of_tile(cpu, vectors) + 1) if fits(count)))
        for vectors in _vectors(cpu, channels, groups)
    )
    return min(tiles, key=work)


def rows_of_tile(cpu: Cpu, vectors: int) -> int:
    """How many rows of so many vectors of sums stay in registers, beside a row of factors and one that each row has for
    itself.
    """
    return min(accumulators(cpu), cpu.registers - 1 - vectors) // vectors


def divisor(count: int, most: int) -> int:
    """The largest divisor of ``count`` that is at most ``most``; 1 where ``most`` is less."""
    return next(each for each in range(max(1, min(count, most)), 0, -1) if count % each == 0)


def power(size: int) -> int:
    """The largest power of two that is not above ``size``."""
    return 1 << (size.bit_length() - 1)


def round_up(size: int, factor: int) -> int:
    """The least multiple of ``factor`` that is not below ``size``."""
    return -(-size // factor) * factor
