"""Conv2d by kernels that know every size but the batch's: direct convolution, with no patches written to memory.

- forward: windows are read from x itself (`direct`). Padding is added to a copy of each image just before it is read;
  the activation and the largest of each pooling window are taken while the sums are in registers.
- dx at stride 1: the same convolution, of dz with a border of zeros and the weights reversed; dz, zero but at the
  winners, is copied image by image as well. Multiplying its zeros was measured to cost less than skipping them. The
  zeros of the border times infinite weights would be NaN, so infinite weights and other strides are computed
  differently: dz in memory, a matrix product, then for each pixel the sum of the products of all windows that contain
  it.
- dweight, dbias: a fixed number of partial sums over the batch (`dweight`).
- Groups: lanes lie along the output channels of a group, as many as divide them, so that the lanes of a vector read the
  same pixels. Nothing is multiplied by zeros to fill up vectors. `_fast` says where this pays.
- Groups of one input channel each, all three: `depthwise`.

NaN: numbers in no pooling window are not read. The reference multiplies them by 0, so that a NaN or infinity among them
reaches dweight and dx; here it does not.

2·batch·out_height·out_width·out_channels·kernel_height·kernel_width·in_channels/groups flops forward, twice that
backward; copies of images take two images per thread, partial sums eight times the weights, products at most PRODUCTS
numbers or one image.
Source: the formulas of `reference.py`, eqs 25-31 and 38-39.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from typednn.arrays import AnyIntArray, Array1, Array4
from typednn.engines import Array, Build, Cpu, Kernel, empty, gemm, hl, kernel, processor, specialised
from typednn.engines.dispatch import FLOAT32
from typednn.kernels.activations import IDENTITY, Activation
from typednn.kernels.conv2d import depthwise, direct, dweight
from typednn.kernels.conv2d.geometry import Geometry, Window, power
from typednn.kernels.conv2d.reference import derivative
from typednn.kernels.max_pool2d import cpu as max_pool2d

# The kernel of `forward`, the shape of y without the batch, and whether there are winners.
Forward: TypeAlias = tuple[Kernel, tuple[int, int, int], bool]
PRODUCTS = 2 * 1024 * 1024
# Channels of a group, in and out, that have kernels: multiples of _VECTOR, or at most _VECTORS vectors of as many lanes
# as divide both.
_VECTOR, _VECTORS = 16, 8

_UINT8 = np.dtype(np.uint8)


@lru_cache
def covered(image: tuple[int, ...], weight: tuple[int, ...], window: Window) -> bool:
    """Whether ranks and channels fit, at least one window fits, and kernels include this pooling and these groups."""
    if len(image) != 3 or len(weight) != 4 or not window.side_by_side:
        return False
    groups, rest = divmod(image[2], weight[3])
    if rest or weight[0] % groups or (groups > 1 and (window.pooling or not _fast(weight, groups))):
        return False
    return min(window.out(image[:2], weight[1:3])) >= 1


def _fast(weight: tuple[int, ...], groups: int) -> bool:
    """Whether kernels for these groups are faster than the reference's matrix products: not if much of each vector is
    idle.
    """
    out_channels, height, width, in_channels = weight
    if in_channels == 1:
        return height * width <= depthwise.TAPS
    lanes = math.gcd(_VECTOR, in_channels, out_channels // groups)
    return lanes == _VECTOR or max(in_channels, out_channels // groups) <= _VECTORS * lanes


def geometry_of(image: tuple[int, int, int], weight: tuple[int, int, int, int], window: Window) -> Geometry:
    """The sizes of such a convolution."""
    return Geometry(image[:2], image[2], weight[0], weight[1:3], window, image[2] // weight[3])


def plan(
    x: Array4, weight: Array4, bias: Array1 | None, window: Window, activation: Activation, keeps: bool
) -> Forward | None:
    """The kernel of `forward` for these sizes; None where there is none."""
    return _forward[x.shape[1:], weight.shape, bias is not None, window, activation, keeps, x.dtype]


def forward(
    planned: Forward,
    x: Array4,
    weight: Array4,
    bias: Array1 | None,
    window: Window,
    activation: Activation,
    keeps: bool,
) -> tuple[Array4, AnyIntArray | None]:
    """(y, winners)."""
    kernel, out, pools = planned
    shape = (x.shape[0], *out)
    y: Array4 = empty(shape, x.dtype)
    arguments = (x, weight, y) if bias is None else (x, weight, bias, y)
    if not pools:
        kernel.call(*arguments)
        return y, None
    winners: AnyIntArray = empty(shape, _UINT8)
    kernel.call(*arguments, winners)
    return y, winners


@specialised("conv2d", "image sizes")
def _forward(
    image: tuple[int, int, int],
    weight: tuple[int, int, int, int],
    biased: bool,
    window: Window,
    activation: Activation,
    keeps: bool,
    dtype: np.dtype[Any] = FLOAT32,
) -> Forward | None:
    """The kernel, the shape of y without the batch, and whether there are winners; None where there is no kernel."""
    if not covered(image, weight, window):
        return None
    geometry = geometry_of(image, weight, window)
    pools = keeps and geometry.pool > 1
    return forward_kernel(geometry, biased, activation, pools, dtype), (*geometry.out(), weight[0]), pools


class Planned(NamedTuple):
    """The kernels of `backward`."""

    dweight: Kernel  # and of dbias
    dx: Kernel | None  # at stride 1 only
    finite: bool  # dx is right for finite weights only: it multiplies them by zeros around dz


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
) -> Planned | None:
    """The kernels of `backward`; None where there are none, or dx is wanted and `backward` can't compute it."""
    planned = _backward[
        x.shape[1:], weight.shape, window, activation, dweight.images_of(x.shape[0], weight.size), wants_bias, x.dtype
    ]
    if planned is None or not wants_input:
        return planned
    if planned.dx is None or (planned.finite and not is_finite(weight)):
        return None
    return planned


def backward(
    planned: Planned,
    next_grad: Array4,
    x: Array4,
    weight: Array4,
    window: Window,
    activation: Activation,
    y: Array4 | None,
    winners: AnyIntArray | None,
    wants_input: bool,
    wants_bias: bool,
) -> tuple[Array4 | None, Array4, Array1 | None]:
    """(dx, dweight, dbias); dx and dbias are None unless wanted."""
    kept = () if activation == IDENTITY else (y,)
    if winners is not None:
        kept = (*kept, winners)
    of_weight: Array4 = empty(weight.shape, x.dtype)
    dbias: Array1 | None = empty(weight.shape[:1], x.dtype) if wants_bias else None
    planned.dweight.call(x, next_grad, *kept, of_weight, *(() if dbias is None else (dbias,)))
    if not wants_input or planned.dx is None:
        return None, of_weight, dbias
    return dx(planned, next_grad, weight, x.shape, kept), of_weight, dbias


def plan_dx(dz: Array4, weight: Array4, window: Window, shape: tuple[int, ...]) -> Planned | None:
    """The kernels for `dx` of ``shape`` alone; None where there are none."""
    planned = _backward[
        shape[1:], weight.shape, window, IDENTITY, dweight.images_of(shape[0], weight.size), False, dz.dtype
    ]
    return None if planned is None or planned.dx is None or (planned.finite and not is_finite(weight)) else planned


def dx(
    planned: Planned,
    next_grad: Array4,
    weight: Array4,
    shape: tuple[int, ...],
    kept: tuple[Array4 | AnyIntArray | None, ...] = (),
) -> Array4:
    """dx, of ``shape``."""
    assert planned.dx is not None
    found: Array4 = empty(shape, weight.dtype)
    planned.dx.call(next_grad, weight, *kept, found)
    return found


def is_finite(weight: Array4) -> bool:
    """Whether all weights are finite: with an infinity or NaN among them, their sum is not."""
    return math.isfinite(np.add.reduce(weight, None))


@specialised("conv2d", "image sizes")
def _backward(
    image: tuple[int, int, int],
    weight: tuple[int, int, int, int],
    window: Window,
    activation: Activation,
    images: dweight.Images,
    biased: bool,
    dtype: np.dtype[Any] = FLOAT32,
) -> Planned | None:
    if not covered(image, weight, window):
        return None
    geometry = geometry_of(image, weight, window)
    # Not toolchain.host(), which loads the compiler.
    lanes_along = direct.dx_lanes(processor.for_schedules(processor.host()).of(dtype.name), geometry)
    finite = not geometry.depthwise and geometry.reach() != (0, 0) and lanes_along != "taps"
    dx = dx_kernel(geometry, activation, dtype) if window.stride == (1, 1) or geometry.depthwise else None
    return Planned(dweight_kernel(geometry, activation, images, dtype, biased), dx, finite)


class PlannedProducts(NamedTuple):
    """The kernels of `backward_by_products`, and the sizes."""

    parameters: Planned
    gather: Kernel
    pool: Any  # MaxPool2d's backward, where there is pooling
    geometry: Geometry


def plan_by_products(
    next_grad: Array4,
    x: Array4,
    weight: Array4,
    window: Window,
    activation: Activation,
    y: Array4 | None,
    winners: AnyIntArray | None,
    wants_input: bool,
    wants_bias: bool,
) -> PlannedProducts | None:
    """The kernels of `backward_by_products`; None where there are none."""
    return _by_products[
        x.shape[1:], weight.shape, window, activation, dweight.images_of(x.shape[0], weight.size), wants_bias, x.dtype
    ]


@specialised("conv2d", "image sizes")
def _by_products(
    image: tuple[int, int, int],
    weight: tuple[int, int, int, int],
    window: Window,
    activation: Activation,
    images: dweight.Images,
    biased: bool,
    dtype: np.dtype[Any] = FLOAT32,
) -> PlannedProducts | None:
    parameters = _backward[image, weight, window, activation, images, biased, dtype]
    if parameters is None:
        return None
    geometry, pool = geometry_of(image, weight, window), None
    if geometry.depthwise:
        return None
    if window.pooling is not None:
        pooling = max_pool2d.kernels[geometry.convolved(), weight[0], *window.pooling, dtype]
        if pooling is None:
            return None
        pool = partial(max_pool2d.backward, pooling)
    return PlannedProducts(parameters, gather_kernel(geometry, dtype), pool, geometry)


def backward_by_products(
    planned: PlannedProducts,
    next_grad: Array4,
    x: Array4,
    weight: Array4,
    window: Window,
    activation: Activation,
    y: Array4 | None,
    winners: AnyIntArray | None,
    wants_input: bool,
    wants_bias: bool,
) -> tuple[Array4 | None, Array4, Array1 | None]:
    """As `backward`; dx for some images at a time: each pixel's dz times the weights, then for each pixel the sum over
    its windows.
    """
    _, of_weight, dbias = backward(
        planned.parameters, next_grad, x, weight, window, activation, y, winners, False, wants_bias
    )
    shape = len(x), *planned.geometry.convolved(), len(weight)
    dz = derivative(next_grad, y, winners, shape, window, activation, planned.pool)
    return dx_by_products(planned, dz, weight, x.shape), of_weight, dbias


def plan_dx_by_products(dz: Array4, weight: Array4, window: Window, shape: tuple[int, ...]) -> PlannedProducts | None:
    """The kernels for `dx_by_products` of ``shape`` alone; None where there are none."""
    return _by_products[
        shape[1:], weight.shape, window, IDENTITY, dweight.images_of(shape[0], weight.size), False, dz.dtype
    ]


def dx_by_products(planned: PlannedProducts, dz: Array4, weight: Array4, shape: tuple[int, ...]) -> Array4:
    """dx, of ``shape``, for some images at a time."""
    batch, height, width, out_channels = dz.shape
    dx: Array4 = empty(shape, dz.dtype)
    groups, weights = planned.geometry.groups, weight.reshape(out_channels, -1)
    of_group, taps = out_channels // groups, weights.shape[1]
    images = min(batch, max(1, PRODUCTS // (height * width * groups * taps)))
    for first in range(0, batch, images):
        some = dz[first : first + images]
        products = empty((*some.shape[:3], groups * taps), dz.dtype)
        rows, of_rows = some.reshape(-1, out_channels), products.reshape(-1, groups * taps)
        for group in range(groups):
            own = slice(group * of_group, (group + 1) * of_group)
            gemm(rows[:, own], weights[own], of_rows[:, group * taps : (group + 1) * taps])
        planned.gather.call(products, dx[first : first + images])
    return dx


def _arrays(geometry: Geometry) -> tuple[Array, Array, Array, Array, tuple[Array, ...]]:
    """x, weight, bias, y, and the winners if there are any; each has the same description as its derivative."""
    out = ("batch", *geometry.out(), geometry.out_channels)
    winners = (Array(*out, dtype="uint8"),) if geometry.pool > 1 else ()
    weight = Array(
        geometry.out_channels, *geometry.kernel_size, geometry.in_channels // geometry.groups, parameter=True
    )
    return (
        Array("batch", *geometry.size, geometry.in_channels),
        weight,
        Array(geometry.out_channels, parameter=True),
        Array(*out),
        winners,
    )


def forward_kernel(
    geometry: Geometry,
    biased: bool,
    activation: Activation,
    keeps: bool = True,
    dtype: np.dtype[Any] = FLOAT32,
    build: Build = direct.build_forward,
) -> Kernel:
    """x, weight, and bias if there is one; y, and winners if it pools and ``keeps`` them for backward. ``build`` unless
    depthwise.
    """
    x, weight, bias, y, winners = _arrays(geometry)
    return kernel(
        "conv2d.forward",
        depthwise.build_forward if geometry.depthwise else build,
        inputs=(x, weight, bias) if biased else (x, weight),
        outputs=(y, *winners) if keeps else (y,),
        options={"geometry": geometry, "activation": activation} | ({} if geometry.depthwise else {"keeps": keeps}),
        dtype=dtype,
    )


def dweight_kernel(
    geometry: Geometry,
    activation: Activation,
    images: dweight.Images = "few",
    dtype: np.dtype[Any] = FLOAT32,
    biased: bool = True,
    build: Build = dweight.build_dweight,
) -> Kernel:
    """x, dy, y unless the activation is the identity, winners if it pools; dweight, and dbias if ``biased``."""
    x, weight, bias, y, winners = _arrays(geometry)
    return kernel(
        "conv2d.dweight",
        depthwise.build_dweight if geometry.depthwise else build,
        inputs=(x, y, *[y] * (activation != IDENTITY), *winners),
        outputs=(weight, bias)[: 1 + biased],
        options={"geometry": geometry, "activation": activation, "images": images, "biased": biased},
        dtype=dtype,
    )


def dx_kernel(
    geometry: Geometry, activation: Activation, dtype: np.dtype[Any] = FLOAT32, build: Build = direct.build_dx
) -> Kernel:
    """dy, then weight, then y and winners as `dweight_kernel` takes them; dx."""
    x, weight, _, y, winners = _arrays(geometry)
    inputs = (y, weight, *[y] * (activation != IDENTITY), *winners)
    options = {"geometry": geometry, "activation": activation}
    build = depthwise.build_dx if geometry.depthwise else build
    return kernel("conv2d.dx", build, inputs=inputs, outputs=(x,), options=options, dtype=dtype)


def gather_kernel(geometry: Geometry, dtype: np.dtype[Any] = FLOAT32) -> Kernel:
    """Products of every weight with every pixel of dz; dx."""
    products = Array("batch", *geometry.convolved(), math.prod(geometry.kernel_size) * geometry.in_channels)
    outputs = _arrays(geometry)[:1]
    return kernel(
        "conv2d.gather", build_gather, inputs=(products,), outputs=outputs, options={"geometry": geometry}, dtype=dtype
    )


def build_gather(cpu: Cpu, products: hl.ImageParam, *, geometry: Geometry) -> hl.Func:
    """dx[c, x, y, n]: the sum of products[tap·in_channels + c] over the taps and output pixels whose window contains
    the pixel (x, y).

    With groups, their products follow one another.
    """
    (taps_down, taps_across), channels, of_group = geometry.kernel_size, geometry.in_channels, geometry.of_group[0]
    (stride_down, stride), (dilation_down, dilation), (out_height, out_width) = (
        geometry.window.stride,
        geometry.window.dilation,
        geometry.convolved(),
    )
    c, x, y, n = (hl.Var(name) for name in "cxyn")
    taps = hl.RDom([(0, taps_across), (0, taps_down)])
    left, above = (
        x + geometry.window.padding[0] - taps.x * dilation,
        y + geometry.window.padding[2] - taps.y * dilation_down,
    )
    taps.where((above >= 0) & (above % stride_down == 0) & (above / stride_down < out_height))
    taps.where((left >= 0) & (left % stride == 0) & (left / stride < out_width))
    sums, dx = hl.Func("sums"), hl.Func("dx")
    lanes, tap = min(cpu.lanes, power(channels)), taps.y * taps_across + taps.x
    place = tap * channels + c
    if geometry.groups > 1:
        lanes = math.gcd(cpu.lanes, of_group)
        place = (c / of_group * taps_down * taps_across + tap) * of_group + c % of_group
    sums[c, x, y, n] += products[
        place,
        hl.clamp(left / stride, 0, out_width - 1),
        hl.clamp(above / stride_down, 0, out_height - 1),
        n,
    ]
    dx[c, x, y, n] = sums[c, x, y, n]
    guard = hl.TailStrategy.GuardWithIf
    dx.bound(c, 0, channels).vectorize(c, lanes, guard)
    direct.parallel(dx, n, 2 * taps_down * taps_across * channels * geometry.size[0] * geometry.size[1])
    sums.compute_at(dx, x).store_in(hl.MemoryType.Stack).vectorize(c, lanes, guard)
    sums.update().reorder(c, taps.x, taps.y).vectorize(c, lanes, guard).never_partition_all()
    return dx
