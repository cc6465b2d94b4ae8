"""Conv2d by kernels that know every size but the batch's: direct convolution, with no patches written to memory.

Accumulators of a tile of outputs stay in registers while the whole kernel window passes over them. Lanes lie along the output channels,
whose weights are packed for that at each call, or along a row of pixels where channels are few and would leave lanes idle.

- forward: the windows lie in x as they stand.
- dx at stride 1: the same convolution, of dy with a border of zeros and the weights turned round. The zeros of the border would make
  NaN of infinite weights, so those take the other way; as do other strides: a matrix product, then for each pixel the sum of what met it.
- dweight, dbias: a fixed number of partial sums over the batch, so that results don't depend on the thread count.

2·batch·out_height·out_width·out_channels·kernel_height·kernel_width·in_channels flops forward, twice that backward; the
bordered dy takes one image per thread, partial sums of weights PARTS times the weights, products at most PRODUCTS numbers or one image.
Source: `reference.py` says the formulas, eqs 25-27.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from typednn.arrays import Array1, Array4
from typednn.engines import Array, Cpu, Kernel, empty, kernel, record, sgemm
from typednn.kernels.windows import output_size

PARTS = 8
PRODUCTS = 2 * 1024 * 1024

_Read = Callable[[Any, Any, Any, Any], Any]


class Geometry(NamedTuple):
    """All sizes of a convolution but the batch's: an option of its kernels. Pairs are (height, width)."""

    size: tuple[int, int]
    in_channels: int
    out_channels: int
    kernel_size: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]

    def out(self) -> tuple[int, int]:
        """Height and width of y."""
        height, width = (
            output_size(size, kernel, stride, dilation)
            for size, kernel, stride, dilation in zip(self.size, self.kernel_size, self.stride, self.dilation, strict=True)
        )
        return height, width

    def reach(self) -> tuple[int, int]:
        """How far the last tap lies from the first."""
        return self.dilation[0] * (self.kernel_size[0] - 1), self.dilation[1] * (self.kernel_size[1] - 1)


def forward(x: Array4, weight: Array4, bias: Array1 | None, stride: tuple[int, int], dilation: tuple[int, int]) -> Array4:
    """y (batch, out_height, out_width, out_channels)."""
    run, out = _forward_kernel(x.shape[1:], weight.shape, bias is not None, stride, dilation)
    y: Array4 = empty((x.shape[0], *out))
    if bias is None:
        run(x, weight, y)
    else:
        run(x, weight, bias, y)
    record("conv2d.forward", "halide")
    return y


def backward(
    next_grad: Array4, x: Array4, weight: Array4, stride: tuple[int, int], dilation: tuple[int, int]
) -> tuple[Array4, Array4, Array1]:
    """(dx, dweight, dbias), shaped like x, weight and bias."""
    gradients, of_input = _backward_kernels(x.shape[1:], weight.shape, stride, dilation)
    dweight: Array4 = empty(weight.shape)
    dbias: Array1 = empty(weight.shape[:1])
    batch, out_height, out_width, out_channels = next_grad.shape
    gradients(x, next_grad.reshape(batch, out_height, out_width * out_channels), dweight, dbias)
    dx: Array4 = empty(x.shape)
    # One infinity or NaN among the weights, and their sum is not finite.
    if of_input is not None and math.isfinite(np.add.reduce(weight, None)):
        of_input(next_grad, weight, dx)
        record("conv2d.backward", "halide")
    else:
        _dx_by_products(dx, next_grad, weight, stride, dilation)
        record("conv2d.backward", "blas")
    return dx, dweight, dbias


def _dx_by_products(dx: Array4, next_grad: Array4, weight: Array4, stride: tuple[int, int], dilation: tuple[int, int]) -> None:
    """For some images at a time, each output pixel's gradient times the weights, then the sum over the places that each pixel was in."""
    batch, out_height, out_width, out_channels = next_grad.shape
    taps = weight.size // out_channels
    gather = _gather_kernel(dx.shape[1:], weight.shape, stride, dilation)
    pixels = out_height * out_width
    images = min(batch, max(1, PRODUCTS // (pixels * taps)))
    weights = weight.reshape(out_channels, taps)
    for first in range(0, batch, images):
        some = next_grad[first : first + images].reshape(-1, out_channels)
        products = empty((some.shape[0] // pixels, out_height, out_width, taps))
        sgemm(some, weights, products.reshape(-1, taps))
        gather(products, dx[first : first + images])


@cache
def covers(image: tuple[int, ...], weight: tuple[int, ...], stride: tuple[int, int], dilation: tuple[int, int]) -> bool:
    """Whether there are kernels for images and weights of these shapes: the ranks and channels fit, and so does one window or more."""
    if len(image) != 3 or len(weight) != 4 or image[2] != weight[3]:
        return False
    return min(map(output_size, image[:2], weight[1:3], stride, dilation)) >= 1


_Pair = tuple[int, int]
_Image = tuple[int, int, int]
_Weight = tuple[int, int, int, int]


@cache
def _forward_kernel(
    image: _Image, weight: _Weight, biased: bool, stride: _Pair, dilation: _Pair
) -> tuple[Callable[..., None], tuple[int, int, int]]:
    """The kernel of y, compiled, and the shape of y without the batch."""
    out = (*_geometry(image, weight, stride, dilation).out(), weight[0])
    return _forward(image, weight, biased, stride, dilation).function, out


@cache
def _backward_kernels(
    image: _Image, weight: _Weight, stride: _Pair, dilation: _Pair
) -> tuple[Callable[..., None], Callable[..., None] | None]:
    """The kernel of dweight and dbias, and that of dx where there is one for this stride, compiled."""
    of_input = _dx(image, weight, stride, dilation).function if stride == (1, 1) else None
    return _dweight(image, weight, stride, dilation).function, of_input


@cache
def _gather_kernel(image: _Image, weight: _Weight, stride: _Pair, dilation: _Pair) -> Callable[..., None]:
    return _gather(image, weight, stride, dilation).function


def kernels(image: _Image, weight: _Weight, stride: _Pair, dilation: _Pair) -> list[Kernel]:
    """Every kernel that such a convolution may need, none of them compiled yet."""
    of_input = [_dx(image, weight, stride, dilation)] if stride == (1, 1) else []
    ways = [_forward(image, weight, biased, stride, dilation) for biased in (False, True)]
    return [*ways, _dweight(image, weight, stride, dilation), *of_input, _gather(image, weight, stride, dilation)]


def _forward(image: _Image, weight: _Weight, biased: bool, stride: _Pair, dilation: _Pair) -> Kernel:
    geometry = _geometry(image, weight, stride, dilation)
    inputs = (Array("batch", *image), Array(*weight), *([Array(weight[0])] if biased else []))
    out = Array("batch", *geometry.out(), weight[0])
    return kernel("conv2d.forward", build_forward, inputs=inputs, outputs=(out,), options={"geometry": geometry})


def _dx(image: _Image, weight: _Weight, stride: _Pair, dilation: _Pair) -> Kernel:
    geometry = _geometry(image, weight, stride, dilation)
    inputs = (Array("batch", *geometry.out(), weight[0]), Array(*weight))
    return kernel("conv2d.dx", build_dx, inputs=inputs, outputs=(Array("batch", *image),), options={"geometry": geometry})


def _dweight(image: _Image, weight: _Weight, stride: _Pair, dilation: _Pair) -> Kernel:
    geometry = _geometry(image, weight, stride, dilation)
    height, width = geometry.out()
    inputs = (Array("batch", *image), Array("batch", height, width * weight[0]))
    outputs = (Array(*weight), Array(weight[0]))
    return kernel("conv2d.dweight", build_dweight, inputs=inputs, outputs=outputs, options={"geometry": geometry})


def _gather(image: _Image, weight: _Weight, stride: _Pair, dilation: _Pair) -> Kernel:
    geometry = _geometry(image, weight, stride, dilation)
    products = Array("batch", *geometry.out(), weight[1] * weight[2] * weight[3])
    return kernel("conv2d.gather", build_gather, inputs=(products,), outputs=(Array("batch", *image),), options={"geometry": geometry})


def _geometry(
    image: tuple[int, int, int], weight: tuple[int, int, int, int], stride: tuple[int, int], dilation: tuple[int, int]
) -> Geometry:
    height, width, in_channels = image
    # NumPy's integers are no part of a kernel's key: their repr is another one.
    return Geometry(
        (height, width), in_channels, weight[0], weight[1:3], (int(stride[0]), int(stride[1])), (int(dilation[0]), int(dilation[1]))
    )


# Kernels. Halide's axes run backwards: channels c, columns x, rows y, images n. Of a window: k across, l down, r its channels.


def build_forward(hl: Any, cpu: Cpu, x: Any, weight: Any, bias: Any = None, *, geometry: Geometry) -> Any:
    """y[c, x, y, n] = bias[c] + Σ_rkl x[r, x·stride + k·dilation, y·stride + l·dilation, n] weight[r, k, l, c]."""
    return _correlation(
        hl,
        cpu,
        geometry,
        read=lambda r, column, row, n: x[r, column, row, n],
        weights=lambda c, r, across, down: weight[r, across, down, c],
        first=(lambda c: bias[c]) if bias is not None else (lambda c: hl.f32(0)),
        border=None,
    )


def build_dx(hl: Any, cpu: Cpu, dy: Any, weight: Any, *, geometry: Geometry) -> Any:
    """dx[c, x, y, n] = Σ_rkl dy[r, x - k·dilation, y - l·dilation, n] weight[c, k, l, r], where dy has such a pixel; stride 1."""
    height, width = geometry.out()
    down, across = geometry.reach()
    (taps_down, taps_across), out_channels = geometry.kernel_size, geometry.out_channels
    turned = Geometry(
        (height + 2 * down, width + 2 * across), out_channels, geometry.in_channels, geometry.kernel_size, (1, 1), geometry.dilation
    )
    r, x, y, n = hl.Var("r"), hl.Var("x"), hl.Var("y"), hl.Var("n")
    bordered = hl.Func("bordered")
    if down or across:
        inner = hl.RDom([(0, out_channels), (0, width), (0, height)])
        bordered[r, x, y, n] = hl.f32(0)
        bordered[inner.x, inner.y + across, inner.z + down, n] = dy[inner.x, inner.y, inner.z, n]
        lanes = min(cpu.lanes, _power(out_channels))
        bordered.vectorize(r, lanes, hl.TailStrategy.GuardWithIf)
        bordered.update().vectorize(inner.x, lanes, hl.TailStrategy.GuardWithIf)
    else:
        bordered[r, x, y, n] = dy[r, x, y, n]
    return _correlation(
        hl,
        cpu,
        turned,
        read=lambda r, column, row, n: bordered[r, column, row, n],
        weights=lambda c, r, k, down: weight[c, taps_across - 1 - k, taps_down - 1 - down, r],
        first=lambda c: hl.f32(0),
        border=bordered if down or across else None,
    )


def _correlation(hl: Any, cpu: Cpu, geometry: Geometry, *, read: _Read, weights: _Read, first: Callable[[Any], Any], border: Any) -> Any:
    """A convolution of what ``read`` reads, on top of ``first``; ``border`` is a Func under ``read`` that is computed image by image."""
    if _cost_by_channels(cpu, geometry) <= _cost_by_pixels(cpu, geometry):
        return _by_channels(hl, cpu, geometry, read, weights, first, border)
    return _by_pixels(hl, cpu, geometry, read, weights, first, border)


def _cost_by_channels(cpu: Cpu, geometry: Geometry) -> float:
    """Lanes computed for each one used, along output channels."""
    return _round_up(geometry.out_channels, cpu.lanes) / geometry.out_channels


def _cost_by_pixels(cpu: Cpu, geometry: Geometry) -> float:
    """Lanes computed for each one used, along a row of outputs; and something for turning channels into planes and back."""
    width = geometry.out()[1]
    lanes = min(cpu.lanes, _power(width))
    return 1.25 * _round_up(width, lanes) / width * cpu.lanes / lanes


def _by_channels(hl: Any, cpu: Cpu, geometry: Geometry, read: _Read, weights: _Read, first: Callable[[Any], Any], border: Any) -> Any:
    (height, width), lanes, channels = geometry.out(), cpu.lanes, geometry.out_channels
    (taps_down, taps_across), in_channels = geometry.kernel_size, geometry.in_channels
    vectors = -(-channels // lanes)
    block_vectors = min((4, 3, 2, 1), key=lambda v: (_round_up(vectors, v), -v))
    block = block_vectors * lanes
    columns, rows = _tile(width, height, _accumulators(cpu) // block_vectors, block_vectors)

    c, r, k, l, o, x, y, n = (hl.Var(name) for name in "crkloxyn")  # noqa: E741
    xo, yo = hl.Var("xo"), hl.Var("yo")
    guard, inwards = hl.TailStrategy.GuardWithIf, hl.TailStrategy.ShiftInwards

    def padded(value: Callable[[Any], Any], channel: Any) -> Any:
        """``value`` of a channel; 0 of those that only fill the last block."""
        if channels % block == 0:
            return value(channel)
        return hl.select(channel < channels, value(hl.min(channel, channels - 1)), hl.f32(0))

    packed = hl.Func("packed")
    packed[c, r, k, l, o] = padded(lambda channel: weights(channel, r, k, l), o * block + c)
    window = hl.RDom([(0, in_channels), (0, taps_across), (0, taps_down)])
    sums = hl.Func("sums")
    sums[c, x, y, n, o] = padded(first, o * block + c)
    sums[c, x, y, n, o] += packed[c, window.x, window.y, window.z, o] * read(
        window.x, x * geometry.stride[1] + window.y * geometry.dilation[1], y * geometry.stride[0] + window.z * geometry.dilation[0], n
    )
    out = hl.Func("out")
    out[c, x, y, n] = sums[c % block, x, y, n, c / block]

    out.bound(c, 0, channels).bound(x, 0, width).bound(y, 0, height)
    (
        out.split(c, o, c, block, guard)
        .split(x, xo, x, columns, inwards)
        .split(y, yo, y, rows, inwards)
        .reorder(c, x, y, xo, yo, o, n)
        .vectorize(c, lanes, guard)
        .unroll(c)
        .unroll(x)
        .unroll(y)
    )
    _parallel(hl, out, n, _flops(geometry))
    sums.compute_at(out, xo).store_in(hl.MemoryType.Stack).vectorize(c, lanes).unroll(c).unroll(x).unroll(y)
    update = sums.update().reorder(c, x, y, window.x, window.y, window.z).vectorize(c, lanes).unroll(c).unroll(x).unroll(y)
    if in_channels % 4 == 0 or in_channels <= 8:
        update.unroll(window.x, 4 if in_channels % 4 == 0 else in_channels)
    packed.compute_root().vectorize(c, lanes)
    if channels * in_channels * taps_across * taps_down >= 1 << 16:
        packed.parallel(o)
    if border is not None:
        border.compute_at(out, n)
    return out


def _by_pixels(hl: Any, cpu: Cpu, geometry: Geometry, read: _Read, weights: _Read, first: Callable[[Any], Any], border: Any) -> Any:
    (height, width), channels = geometry.out(), geometry.out_channels
    (taps_down, taps_across), in_channels = geometry.kernel_size, geometry.in_channels
    (step_down, step), (apart_down, apart) = geometry.stride, geometry.dilation
    lanes = min(cpu.lanes, _power(width))
    block = min(channels, _accumulators(cpu))
    vectors = max(v for v in (1, 2) if v == 1 or (v * lanes <= width and v * block <= _accumulators(cpu) and width % (v * lanes) == 0))
    rows = min((_tile(height, 1, _accumulators(cpu) // (block * vectors), block)[0]), 8)

    c, r, o, x, y, n, p = (hl.Var(name) for name in "croxynp")
    xo, yo = hl.Var("xo"), hl.Var("yo")
    guard, inwards = hl.TailStrategy.GuardWithIf, hl.TailStrategy.ShiftInwards

    # Every step-th column of a channel in a row: plane[x, p, r, y, n] is column x·step + p.
    plane = hl.Func("plane")
    last = geometry.size[1] - 1
    plane[x, p, r, y, n] = read(r, hl.min(x * step + p, last) if step > 1 else x + p, y, n)

    window = hl.RDom([(0, in_channels), (0, taps_across), (0, taps_down)])
    sums = hl.Func("sums")
    sums[x, c, y, n] = first(c)
    column = window.y * apart
    sums[x, c, y, n] += (
        weights(c, window.x, window.y, window.z)
        * plane[x + column / step, column % step, window.x, y * step_down + window.z * apart_down, n]
    )
    out = hl.Func("out")
    out[c, x, y, n] = sums[x, c, y, n]

    out.bound(c, 0, channels).bound(x, 0, width).bound(y, 0, height)
    (
        out.split(c, o, c, block, guard)
        .split(x, xo, x, lanes * vectors, inwards)
        .split(y, yo, y, rows, inwards)
        .reorder(c, x, y, xo, yo, o, n)
        .vectorize(x, lanes)
        .unroll(c)
        .unroll(x)
        .unroll(y)
    )
    _parallel(hl, out, n, _flops(geometry))
    sums.compute_at(out, xo).store_in(hl.MemoryType.Stack).vectorize(x, lanes).unroll(x).unroll(c).unroll(y)
    update = sums.update().reorder(x, c, y, window.x, window.y, window.z)
    update.vectorize(x, lanes).unroll(x).unroll(c).unroll(y)
    if in_channels > 1 or step > 1:
        plane.compute_at(out, n).reorder(r, p, x, y, n).vectorize(x, min(cpu.lanes, _power(geometry.size[1])), guard)
        if in_channels <= 16:
            plane.unroll(r)
    if border is not None:
        border.compute_at(out, n)
    return out


def build_gather(hl: Any, cpu: Cpu, products: Any, *, geometry: Geometry) -> Any:
    """dx[c, x, y, n]: the sum of products[tap·in_channels + c] over the taps and output pixels that met the pixel (x, y)."""
    (taps_down, taps_across), channels = geometry.kernel_size, geometry.in_channels
    (step_down, step), (apart_down, apart), (out_height, out_width) = geometry.stride, geometry.dilation, geometry.out()
    c, x, y, n = (hl.Var(name) for name in "cxyn")
    taps = hl.RDom([(0, taps_across), (0, taps_down)])
    left, above = x - taps.x * apart, y - taps.y * apart_down
    taps.where((above >= 0) & (above % step_down == 0) & (above / step_down < out_height))
    taps.where((left >= 0) & (left % step == 0) & (left / step < out_width))
    sums, dx = hl.Func("sums"), hl.Func("dx")
    sums[c, x, y, n] = hl.f32(0)
    sums[c, x, y, n] += products[
        (taps.y * taps_across + taps.x) * channels + c,
        hl.clamp(left / step, 0, out_width - 1),
        hl.clamp(above / step_down, 0, out_height - 1),
        n,
    ]
    dx[c, x, y, n] = sums[c, x, y, n]
    lanes = min(cpu.lanes, _power(channels))
    guard = hl.TailStrategy.GuardWithIf
    dx.bound(c, 0, channels).vectorize(c, lanes, guard)
    _parallel(hl, dx, n, 2 * taps_down * taps_across * channels * geometry.size[0] * geometry.size[1])
    sums.compute_at(dx, x).store_in(hl.MemoryType.Stack).vectorize(c, lanes, guard)
    sums.update().reorder(c, taps.x, taps.y).vectorize(c, lanes, guard).never_partition_all()
    return dx


def build_dweight(hl: Any, cpu: Cpu, x: Any, dy: Any, *, geometry: Geometry) -> list[Any]:
    """dweight[r, k, l, c] = Σ_xyn dy[c, x, y, n] x[r, x·stride + k·dilation, y·stride + l·dilation, n], and dbias[c] = Σ_xyn dy.

    dy comes with its rows flat: dy[x·out_channels + c, y, n].
    """
    costs = {
        _dweight_by_pixels: 1.3 * _cost_by_pixels(cpu, geometry),
        _dweight_by_in_channels: _round_up(geometry.in_channels, cpu.lanes) / geometry.in_channels,
        _dweight_by_out_channels: _cost_by_channels(cpu, geometry),
    }
    return [min(costs, key=lambda way: costs[way])(hl, cpu, x, dy, geometry), _dbias(hl, cpu, dy, geometry)]


def _dbias(hl: Any, cpu: Cpu, dy: Any, geometry: Geometry) -> Any:
    (height, width), channels = geometry.out(), geometry.out_channels
    f, c, n, p = (hl.Var(name) for name in "fcnp")
    guard = hl.TailStrategy.GuardWithIf
    image, whole = hl.Func("image_bias"), hl.Func("row")
    batch = dy.dim(2).extent()
    chunk = (batch + PARTS - 1) / PARTS
    rows = hl.RDom([(0, height)])
    image[f, n] = hl.f32(0)
    image[f, n] += dy[f, rows, n]
    part, images = hl.Func("part_bias"), hl.RDom([(0, chunk)])
    images.where(p * chunk + images < batch)
    part[f, p] = hl.f32(0)
    part[f, p] += image[f, hl.min(p * chunk + images, batch - 1)]
    whole[f] = _tree([part[f, i] for i in range(PARTS)])
    total, across = hl.Func("total_bias"), hl.RDom([(0, width)])
    total[c] = hl.f32(0)
    total[c] += whole[across * channels + c]
    db = hl.Func("db")
    db[c] = total[c]
    lanes = min(cpu.lanes, _power(width * channels))
    total.compute_root()
    whole.compute_root().vectorize(f, lanes, guard)
    part.compute_root().vectorize(f, lanes, guard)
    part.update().reorder(f, images.x, p).vectorize(f, lanes, guard).never_partition_all()
    image.compute_at(part, images.x).vectorize(f, lanes, guard)
    image.update().reorder(f, rows.x, n).vectorize(f, lanes, guard)
    if height * width * channels >= 2048:
        part.update().parallel(p)
    return db


def _dweight_by_out_channels(hl: Any, cpu: Cpu, x: Any, dy: Any, geometry: Geometry) -> Any:
    """Lanes are output channels; the accumulators of a tile are some taps of a row of the window."""
    (_, width), lanes, channels, in_channels = geometry.out(), cpu.lanes, geometry.out_channels, geometry.in_channels
    vectors = -(-channels // lanes)
    block_vectors = min((4, 3, 2, 1), key=lambda v: (_round_up(vectors, v), -v))
    block = block_vectors * lanes
    taps = geometry.kernel_size[1] * in_channels
    most = (cpu.registers - 2) // block_vectors if vectors == 1 else 16 * cpu.registers // 32 // block_vectors
    some = max(t for t in range(1, max(most, 1) + 1) if taps % t == 0 and (in_channels % t == 0 or t % in_channels == 0))
    c, x_, y, n = (hl.Var(name) for name in "cxyn")
    stage = hl.Func("stage")
    staged = channels % block != 0
    if staged:
        stage[c, x_, y, n] = hl.select(c < channels, dy[x_ * channels + hl.min(c, channels - 1), y, n], hl.f32(0))
        stage.vectorize(c, lanes)
    else:
        stage[c, x_, y, n] = dy[x_ * channels + c, y, n]

    def product(c: Any, t: Any, l: Any, column: Any, row: Any, n: Any) -> Any:  # noqa: E741
        at = column * geometry.stride[1] + (t / in_channels) * geometry.dilation[1]
        return stage[c, column, row, n] * x[t % in_channels, at, row * geometry.stride[0] + l * geometry.dilation[0], n]

    parts = _partial_sums(hl, cpu, x, geometry, product, (block, vectors * lanes), (some, taps), width, stage if staged else None)
    r, k, l = hl.Var("r"), hl.Var("k"), hl.Var("l")  # noqa: E741
    dweight = hl.Func("dw")
    dweight[r, k, l, c] = _tree([parts[c, k * in_channels + r, l, i] for i in range(PARTS)])
    dweight.vectorize(r, min(lanes, _power(in_channels)), hl.TailStrategy.GuardWithIf)
    if channels * taps >= 1 << 13:
        dweight.parallel(c, lanes, hl.TailStrategy.GuardWithIf)
    return dweight


def _dweight_by_in_channels(hl: Any, cpu: Cpu, x: Any, dy: Any, geometry: Geometry) -> Any:
    """Lanes are input channels; the accumulators of a tile are some output channels at one tap."""
    (_, width), lanes, channels, in_channels = geometry.out(), cpu.lanes, geometry.out_channels, geometry.in_channels
    vectors = -(-in_channels // lanes)
    block_vectors = min((4, 3, 2, 1), key=lambda v: (_round_up(vectors, v), -v))
    block = block_vectors * lanes
    taps = geometry.kernel_size[1] * channels
    most = max(16 * cpu.registers // 32 // block_vectors, 1) if vectors > 1 else _accumulators(cpu)
    some = max(t for t in range(1, most + 1) if channels % t == 0)
    c, x_, y, n = (hl.Var(name) for name in "cxyn")
    stage = hl.Func("stage")
    staged = in_channels % block != 0
    if staged:
        stage[c, x_, y, n] = hl.select(c < in_channels, x[hl.min(c, in_channels - 1), x_, y, n], hl.f32(0))
        stage.vectorize(c, lanes)
    else:
        stage[c, x_, y, n] = x[c, x_, y, n]

    def product(c: Any, t: Any, l: Any, column: Any, row: Any, n: Any) -> Any:  # noqa: E741
        at = column * geometry.stride[1] + (t / channels) * geometry.dilation[1]
        down = row * geometry.stride[0] + l * geometry.dilation[0]
        return dy[column * channels + t % channels, row, n] * stage[c, at, down, n]

    parts = _partial_sums(hl, cpu, x, geometry, product, (block, vectors * lanes), (some, taps), width, stage if staged else None)
    r, k, l = hl.Var("r"), hl.Var("k"), hl.Var("l")  # noqa: E741
    dweight = hl.Func("dw")
    dweight[r, k, l, c] = _tree([parts[r, k * channels + c, l, i] for i in range(PARTS)])
    dweight.vectorize(r, min(lanes, _power(in_channels)), hl.TailStrategy.GuardWithIf)
    if in_channels * taps >= 1 << 13:
        dweight.parallel(c, 4, hl.TailStrategy.GuardWithIf)
    return dweight


def _partial_sums(
    hl: Any,
    cpu: Cpu,
    x: Any,
    geometry: Geometry,
    product: Callable[..., Any],
    vectors: tuple[int, int],
    taps: tuple[int, int],
    width: int,
    stage: Any,
) -> Any:
    """parts[c, t, l, p] = Σ product(c, t, l, x, y, n) over part p of the images. ``vectors`` and ``taps``: (those of a tile, all)."""
    height = geometry.out()[0]
    (block, all_lanes), (some, all_taps) = vectors, taps
    c, t, l, y, n, p, o, to = (hl.Var(name) for name in ("c", "t", "l", "y", "n", "p", "o", "to"))  # noqa: E741
    small = all_lanes * all_taps * geometry.kernel_size[0] <= 4096
    rows = max(rows for rows in range(1, height + 1) if height % rows == 0 and (small or rows == 1 or rows * width <= 48))

    place = hl.RDom([(0, width), (0, rows)])
    tile = hl.Func("tile")
    tile[c, t, l, y, n] = hl.f32(0)
    tile[c, t, l, y, n] += product(c, t, l, place.x, y * rows + place.y, n)

    batch = x.dim(3).extent()
    chunk = (batch + PARTS - 1) / PARTS
    images = hl.RDom([(0, height // rows), (0, chunk)])
    images.where(p * chunk + images.y < batch)
    parts = hl.Func("parts")
    parts[c, t, l, p] = hl.f32(0)
    parts[c, t, l, p] += tile[c, t, l, images.x, hl.min(p * chunk + images.y, batch - 1)]

    parts.bound_extent(c, all_lanes).compute_root().vectorize(c, cpu.lanes)
    update = parts.update()
    (
        update.split(c, o, c, block)
        .split(t, to, t, some)
        .reorder(c, t, l, to, o, images.x, images.y, p)
        .vectorize(c, cpu.lanes)
        .unroll(c)
        .unroll(t)
        .never_partition_all()
    )
    if height * width * all_lanes * all_taps * geometry.kernel_size[0] >= 1 << 14:
        update.parallel(p)
        if not small:
            parts.parallel(p)
    tile.compute_at(parts, l).store_in(hl.MemoryType.Stack).vectorize(c, cpu.lanes).unroll(c).unroll(t)
    tile.update().reorder(c, t, place.x, place.y, l).vectorize(c, cpu.lanes).unroll(c).unroll(t)
    if stage is not None:
        stage.compute_at(parts, images.y)
    return parts


def _dweight_by_pixels(hl: Any, cpu: Cpu, x: Any, dy: Any, geometry: Geometry) -> Any:
    """Lanes are pixels of a row; the accumulators of a tile are some output channels at each tap of a row of the window."""
    (height, width), channels, in_channels = geometry.out(), geometry.out_channels, geometry.in_channels
    taps, (step_down, step), (apart_down, apart) = geometry.kernel_size[1], geometry.stride, geometry.dilation
    lanes = min(cpu.lanes, _power(width))
    most = 16 * cpu.registers // 32
    several = max(k for k in range(1, taps + 1) if taps % k == 0 and (k <= most or k == 1))
    block = max(b for b in range(1, channels + 1) if channels % b == 0 and (b * several <= most or b == 1))
    c, r, k, l, n, p, i, y, q, o, ko = (hl.Var(name) for name in ("c", "r", "k", "l", "n", "p", "i", "y", "q", "o", "ko"))  # noqa: E741
    guard = hl.TailStrategy.GuardWithIf

    plane, slope = hl.Func("plane"), hl.Func("slope")
    last = geometry.size[1] - 1
    plane[i, q, r, y, n] = x[r, hl.min(i * step + q, last) if step > 1 else i + q, y, n]
    slope[i, c, y, n] = dy[i * channels + c, y, n]

    def product(i: Any, column: Any, row: Any) -> Any:
        at = k * apart
        return slope[column + i, c, row, n] * plane[column + i + at / step, at % step, r, row * step_down + l * apart_down, n]

    tile = hl.Func("tile")
    tile[i, c, k, r, l, n] = hl.f32(0)
    full = hl.RDom([(0, width // lanes), (0, height)])
    tile[i, c, k, r, l, n] += product(i, full.x * lanes, full.y)
    end = hl.RDom([(0, height)])
    if width % lanes:
        # The last vector of a row overlaps the one before; what that has counted is left out, not multiplied by 0, which NaN would survive.
        before = tile[i, c, k, r, l, n]
        tile[i, c, k, r, l, n] = hl.select(i >= lanes - width % lanes, before + product(i, width - lanes, end), before)

    batch = x.dim(3).extent()
    chunk = (batch + PARTS - 1) / PARTS
    images = hl.RDom([(0, chunk)])
    images.where(p * chunk + images < batch)
    parts, sums = hl.Func("parts"), hl.Func("sums")
    parts[i, c, k, r, l, p] = hl.f32(0)
    parts[i, c, k, r, l, p] += tile[i, c, k, r, l, hl.min(p * chunk + images, batch - 1)]
    sums[i, c, k, r, l] = _tree([parts[i, c, k, r, l, part] for part in range(PARTS)])
    dweight = hl.Func("dw")
    dweight[r, k, l, c] = _tree([sums[lane, c, k, r, l] for lane in range(lanes)])

    sums.compute_root().vectorize(i, lanes)
    parts.bound_extent(i, lanes).compute_root().vectorize(i, lanes)
    update = parts.update()
    (
        update.split(c, o, c, block)
        .split(k, ko, k, several)
        .reorder(i, c, k, ko, o, r, l, images.x, p)
        .vectorize(i, lanes)
        .unroll(c)
        .unroll(k)
        .never_partition_all()
    )
    if _flops(geometry) >= 1 << 15:
        update.parallel(p)
    tile.compute_at(parts, ko).store_in(hl.MemoryType.Stack).vectorize(i, lanes).unroll(c).unroll(k)
    tile.update().reorder(i, c, k, full.x, full.y).vectorize(i, lanes).unroll(c).unroll(k)
    if width % lanes:
        tile.update(1).reorder(i, c, k, end.x).vectorize(i, lanes).unroll(c).unroll(k)
    slope.compute_at(parts, images.x).reorder(c, i, y, n).vectorize(i, lanes, hl.TailStrategy.ShiftInwards).unroll(c)
    if in_channels > 1 or step > 1:
        plane.compute_at(parts, images.x).reorder(r, q, i, y, n).vectorize(i, min(cpu.lanes, _power(geometry.size[1])), guard)
    return dweight


def _accumulators(cpu: Cpu) -> int:
    """How many registers sums may take: the others hold what they are multiplied from."""
    return cpu.registers - max(4, cpu.registers // 4)


def _tile(width: int, height: int, most: int, vectors: int) -> tuple[int, int]:
    """Columns and rows of a tile of at most ``most`` pixels, those with the least to do for the whole image."""

    def cost(tile: tuple[int, int]) -> float:
        columns, rows = tile
        pixels = columns * rows
        # Each step of a tile multiplies, and loads what it multiplies: weights once per tile, pixels once per tap.
        return -(-width // columns) * -(-height // rows) * (pixels * vectors + vectors + 0.5 * pixels + 2)

    tiles = [
        (columns, rows) for columns in range(1, min(width, max(most, 1)) + 1) for rows in range(1, min(height, max(most // columns, 1)) + 1)
    ]
    return min(tiles, key=lambda tile: (cost(tile), tile[1]))


def _parallel(hl: Any, function: Any, n: Any, flops: int) -> None:
    """Images in tasks of about a million operations: with fewer there is one task, which starts no thread."""
    chunk = hl.Var("chunk")
    images = max(1, min(64, (1 << 20) // flops))
    function.split(n, chunk, n, images, hl.TailStrategy.GuardWithIf).parallel(chunk)


def _flops(geometry: Geometry) -> int:
    """Operations for one image."""
    (height, width), (taps_down, taps_across) = geometry.out(), geometry.kernel_size
    return 2 * height * width * taps_down * taps_across * geometry.in_channels * geometry.out_channels


def _tree(terms: list[Any]) -> Any:
    """The sum, of halves that are summed alike."""
    if len(terms) == 1:
        return terms[0]
    return _tree(terms[: len(terms) // 2]) + _tree(terms[len(terms) // 2 :])


def _power(size: int) -> int:
    """The largest power of two that is not above ``size``."""
    return 1 << (size.bit_length() - 1)


def _round_up(size: int, factor: int) -> int:
    """The least multiple of ``factor`` that is not below ``size``."""
    return -(-size // factor) * factor
