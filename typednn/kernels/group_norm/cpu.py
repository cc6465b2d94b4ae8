"""GroupNorm in Halide: an image is read once from memory forward, twice backward. Lanes run along the channels.

Sums over an image are taken for each channel, as differences from its first pixel and in double precision: one pass,
which loses no digits to a large mean. A group's mean and spread are put together from its channels'.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from typednn.arrays import AnyArray, Array1
from typednn.engines import Array, Cpu, Kernel, Scalar, empty, hl, kernel, nan, specialised
from typednn.engines.dispatch import FLOAT32
from typednn.kernels.elementwise import PARALLEL_FROM
from typednn.kernels.softmax.cpu import across

X = TypeVar("X", bound=AnyArray)


class _Images:
    """How a kernel goes over the images of ``x``: [channel, pixel, image]."""

    def __init__(self, cpu: Cpu, x: hl.ImageParam, channels: int, groups: int, eps: hl.Param) -> None:
        self.cpu, self.x, self.eps = cpu, x, eps
        self.channels, self.groups, self.size = channels, groups, channels // groups
        # Channels of a tile: both sums of each stay in registers while an image is added.
        lanes = min(cpu.lanes, channels)
        self.wide = lanes * min(4 if cpu.registers >= 32 else 2, channels // lanes)
        self.c, self.p, self.n, self.g = (hl.Var(name) for name in "cpng")
        self.pixels, self.double = x.dim(1).extent(), hl.Float(64)
        self.count = hl.cast(self.double, self.pixels) * self.size
        self.several = self.pixels * channels * x.dim(2).extent() >= PARALLEL_FROM

    def sums(self, name: str, terms: Callable[[hl.Expr], tuple[hl.Expr, hl.Expr]], func: hl.Func) -> hl.Func:
        """The sums of ``terms(pixel)`` over an image, [channel, image], for each image of ``func``."""
        c, n = self.c, self.n
        running, result, pixel, tile = (
            hl.Func(f"{name}_running"),
            hl.Func(name),
            hl.RDom([(0, self.pixels)]),
            hl.Var("tile"),
        )
        running[c, n] = hl.Tuple([hl.f64(0), hl.f64(0)])
        first, second = terms(pixel.x)
        running[c, n] = hl.Tuple([running[c, n][0] + first, running[c, n][1] + second])
        result[c, n] = hl.Tuple([running[c, n][0], running[c, n][1]])
        lanes = min(self.cpu.lanes, self.channels)
        result.compute_at(func, n).split(c, tile, c, self.wide, hl.TailStrategy.ShiftInwards).vectorize(c, lanes)
        running.compute_at(result, tile).store_in(hl.MemoryType.Stack).vectorize(c, lanes).unroll(c)
        running.update().reorder(c, pixel.x).vectorize(c, lanes).unroll(c)
        return result

    def by_group(self, name: str, term: Callable[[hl.Expr], hl.Expr], func: hl.Func) -> hl.Func:
        """The sum of ``term(channel)`` over the channels of each group, [group, image]."""
        result, channel = hl.Func(name), hl.RDom([(0, self.size)])
        result[self.g, self.n] = hl.f64(0)
        result[self.g, self.n] += term(self.g * self.size + channel.x)
        result.compute_at(func, self.n)
        return result

    def by_channel(self, name: str, values: list[hl.Expr], func: hl.Func) -> hl.Func:
        """``values`` of each channel, in the arrays' type: [channel, image]."""
        result = hl.Func(name)
        result[self.c, self.n] = hl.Tuple([hl.cast(self.x.type(), value) for value in values])
        result.compute_at(func, self.n)
        across(self.cpu, result, self.c, self.channels)
        return result

    def statistics(self, func: hl.Func) -> tuple[hl.Func, hl.Func]:
        """Mean and rate of each group, [group, image], in double precision."""
        c, n, g, number = self.c, self.n, self.g, self.count / self.size
        first = self.x[c, 0, n]
        # Infinity and NaN are no centre: then the sums themselves tell what there was.
        centre = hl.Func("centre")
        centre[c, n] = hl.cast(self.double, hl.select(nan.bits(first) < nan.infinity(first), first, 0))

        def terms(pixel: hl.Expr) -> tuple[hl.Expr, hl.Expr]:
            difference = hl.cast(self.double, self.x[c, pixel, n]) - centre[c, n]
            return difference, difference * difference

        sums, own, mean, rate = self.sums("differences", terms, func), hl.Func("own"), hl.Func("mean"), hl.Func("rate")
        own[c, n] = hl.Tuple(
            [centre[c, n] + sums[c, n][0] / number, sums[c, n][1] - sums[c, n][0] * sums[c, n][0] / number]
        )
        mean[g, n] = self.by_group("means", lambda channel: own[channel, n][0], func)[g, n] / self.size

        def spread(channel: hl.Expr) -> hl.Expr:
            apart = own[channel, n][0] - mean[channel / self.size, n]
            return own[channel, n][1] + apart * apart * number

        # Rounding may leave less than 0.
        variance = nan.maximum(self.by_group("spreads", spread, func)[g, n] / self.count, hl.f64(0))
        rate[g, n] = 1 / hl.sqrt(variance + hl.cast(self.double, self.eps))
        for each in (mean, rate):
            each.compute_at(func, n)
        for each in (centre, own):
            across(self.cpu, each.compute_at(func, n), c, self.channels)
        return mean, rate

    def each(self, y: hl.Func) -> hl.Func:
        """The schedule of a Func over all numbers."""
        across(self.cpu, y, self.c, self.channels).specialize(self.several).parallel(self.n)
        return y


def _build_forward(
    cpu: Cpu,
    x: hl.ImageParam,
    weight: hl.ImageParam,
    bias: hl.ImageParam,
    eps: hl.Param,
    channels: int,
    groups: int,
) -> hl.Func:
    images, y = _Images(cpu, x, channels, groups, eps), hl.Func("y")
    c, p, n, group = images.c, images.p, images.n, images.c / images.size
    mean, rate = images.statistics(y)
    own = images.by_channel("by_channel", [mean[group, n], rate[group, n] * hl.cast(images.double, weight[c])], y)
    y[c, p, n] = (x[c, p, n] - own[c, n][0]) * own[c, n][1] + bias[c]
    return images.each(y)


def _build_backward(
    cpu: Cpu,
    next_grad: hl.ImageParam,
    x: hl.ImageParam,
    weight: hl.ImageParam,
    eps: hl.Param,
    channels: int,
    groups: int,
) -> list[hl.Func]:
    images, found, dx = _Images(cpu, x, channels, groups, eps), hl.Func("found"), hl.Func("dx")
    c, p, n, double = images.c, images.p, images.n, images.double
    group, real = c / images.size, x.type()
    mean, rate = images.statistics(found)
    centre = images.by_channel("centre", [mean[group, n], mean[group, n]], found)

    def terms(pixel: hl.Expr) -> tuple[hl.Expr, hl.Expr]:
        dy = hl.cast(double, next_grad[c, pixel, n])
        return dy, dy * hl.cast(double, x[c, pixel, n] - centre[c, n][0])

    sums = images.sums("sums", terms, found)

    def weighted(place: int) -> Callable[[hl.Expr], hl.Expr]:
        return lambda channel: sums[channel, n][place] * hl.cast(double, weight[channel])

    shared, slope = (
        images.by_group(f"weighted_{place}", weighted(place), found)[group, n] / images.count for place in range(2)
    )
    own_rate = rate[group, n]
    # dx = rate·(dy·weight - shared - (x - mean)·rate·slope), in which no factor is a power of the rate, which may be
    # beyond float32; then what dbias and dweight have of this image.
    of_image = [mean[group, n], own_rate, shared, own_rate * slope]
    found[c, n] = hl.Tuple([*(hl.cast(real, each) for each in of_image), sums[c, n][0], sums[c, n][1] * own_rate])
    images.each(found.compute_root())
    own = found[c, n]
    normal = (x[c, p, n] - own[0]) * own[1]
    dx[c, p, n] = (next_grad[c, p, n] * weight[c] - own[2] - normal * own[3]) * own[1]

    def over_images(name: str, place: int) -> hl.Func:
        total, given, image = hl.Func(f"{name}_total"), hl.Func(name), hl.RDom([(0, x.dim(2).extent())])
        total[c] = hl.f64(0)
        total[c] += found[c, image.x][place]
        given[c] = hl.cast(real, total[c])
        across(cpu, total.compute_root(), c, channels)
        total.update().reorder(c, image.x).vectorize(c, min(cpu.lanes, channels), hl.TailStrategy.GuardWithIf)
        return across(cpu, given, c, channels)

    return [images.each(dx), over_images("dweight", 5), over_images("dbias", 4)]


class Kernels(NamedTuple):
    """For so many channels in so many groups."""

    forward: Kernel
    backward: Kernel


@specialised("group_norm", "numbers of channels and groups")
def kernels(channels: int, groups: int, dtype: np.dtype[Any] = FLOAT32) -> Kernels:
    """Forward and backward."""
    images, channel, learnt = Array("batch", "pixels", channels), Array(channels), Array(channels, parameter=True)
    options = {"channels": channels, "groups": groups}
    inputs, outputs = (images, learnt, learnt, Scalar()), (images, channel, channel)
    return Kernels(
        kernel("group_norm.forward", _build_forward, inputs=inputs, outputs=(images,), options=options, dtype=dtype),
        kernel(
            "group_norm.backward",
            _build_backward,
            inputs=(images, images, learnt, Scalar()),
            outputs=outputs,
            options=options,
            dtype=dtype,
        ),
    )


def plan(x: AnyArray, weight: Array1 | None, bias: Array1 | None, groups: int, eps: float) -> Kernels | None:
    """The kernels for these channels; None where there are none."""
    return kernels[x.shape[-1], groups, x.dtype]


def plan_backward(next_grad: AnyArray, x: AnyArray, weight: Array1 | None, groups: int, eps: float) -> Kernels | None:
    """As `plan`; None where the shapes differ."""
    return kernels[x.shape[-1], groups, x.dtype] if next_grad.shape == x.shape else None


def forward(planned: Kernels, x: X, weight: Array1 | None, bias: Array1 | None, groups: int, eps: float) -> X:
    """y, shaped like x."""
    batch, *_, channels = x.shape
    y: X = empty(x.shape, x.dtype)
    zeros: Array1 = np.zeros(channels, x.dtype) if bias is None else bias
    images = batch, -1, channels
    planned.forward.call(x.reshape(images), _ones(x, weight), zeros, eps, y.reshape(images))
    return y


def backward(
    planned: Kernels, next_grad: X, x: AnyArray, weight: Array1 | None, groups: int, eps: float
) -> tuple[X, Array1, Array1]:
    """(dx, dweight, dbias)."""
    batch, *_, channels = x.shape
    dx: X = empty(x.shape, x.dtype)
    dweight: Array1 = empty((channels,), x.dtype)
    dbias: Array1 = empty((channels,), x.dtype)
    images = batch, -1, channels
    planned.backward.call(
        next_grad.reshape(images), x.reshape(images), _ones(x, weight), eps, dx.reshape(images), dweight, dbias
    )
    return dx, dweight, dbias


def _ones(x: AnyArray, weight: Array1 | None) -> Array1:
    return np.ones(x.shape[-1], x.dtype) if weight is None else weight
