"""Conv2d by kernels that know every size but the batch's: direct convolution, with no patches written to memory.

- forward: the windows lie in x as they stand (`direct`).
- dx at stride 1: the same convolution, of dy with a border of zeros and the weights turned round. The zeros of the border would make
  NaN of infinite weights, so those take the other way; as do other strides: a matrix product, then for each pixel the sum of what met it.
- dweight, dbias: a fixed number of partial sums over the batch (`dweight`).

2·batch·out_height·out_width·out_channels·kernel_height·kernel_width·in_channels flops forward, twice that backward; what is laid out
anew takes two images per thread, partial sums eight times the weights, products at most PRODUCTS numbers or one image.
Source: `reference.py` says the formulas, eqs 25-27.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from typednn.arrays import Array1, Array4
from typednn.engines import Array, Cpu, Kernel, empty, kernel, record, sgemm
from typednn.engines import cpu as processors
from typednn.kernels.activations import IDENTITY, Activation
from typednn.kernels.conv2d import direct, dweight
from typednn.kernels.conv2d.geometry import Geometry, power
from typednn.kernels.windows import output_size

PRODUCTS = 2 * 1024 * 1024

Pair = tuple[int, int]


def forward(x: Array4, weight: Array4, bias: Array1 | None, stride: Pair, dilation: Pair) -> Array4:
    """y (batch, out_height, out_width, out_channels)."""
    geometry, out = _sizes(x.shape[1:], weight.shape, stride, dilation)
    y: Array4 = empty((x.shape[0], *out))
    run = forward_kernel(geometry, bias is not None, IDENTITY).call
    if bias is None:
        run(x, weight, y)
    else:
        run(x, weight, bias, y)
    record("conv2d.forward", "halide")
    return y


def backward(next_grad: Array4, x: Array4, weight: Array4, stride: Pair, dilation: Pair) -> tuple[Array4, Array4, Array1]:
    """(dx, dweight, dbias), shaped like x, weight and bias."""
    geometry, _ = _sizes(x.shape[1:], weight.shape, stride, dilation)
    of_weight: Array4 = empty(weight.shape)
    dbias: Array1 = empty(weight.shape[:1])
    dweight_kernel(geometry, IDENTITY, x.shape[0] <= dweight.FEW).call(x, next_grad, of_weight, dbias)
    dx: Array4 = empty(x.shape)
    if dx_is_direct(geometry, weight):
        dx_kernel(geometry, IDENTITY).call(next_grad, weight, dx)
        record("conv2d.backward", "halide")
    else:
        _dx_by_products(dx, next_grad, weight, geometry)
        record("conv2d.backward", "blas")
    return dx, of_weight, dbias


def dx_is_direct(geometry: Geometry, weight: Array4) -> bool:
    """Whether dx is what `dx_kernel` computes: at stride 1, and where no weight is infinite or NaN that would meet zeros around dy."""
    # One infinity or NaN among the weights, and their sum is not finite.
    return geometry.stride == (1, 1) and (_meets_no_zeros(geometry) or math.isfinite(np.add.reduce(weight, None)))


@cache
def _meets_no_zeros(geometry: Geometry) -> bool:
    # Not toolchain.host(), which loads the compiler.
    return geometry.reach() == (0, 0) or direct.way_of_dx(processors.for_schedules(processors.processor()), geometry) == "taps"


def _dx_by_products(dx: Array4, next_grad: Array4, weight: Array4, geometry: Geometry) -> None:
    """For some images at a time, each output pixel's gradient times the weights, then the sum over the places that each pixel was in."""
    batch, out_height, out_width, out_channels = next_grad.shape
    taps = weight.size // out_channels
    gather = gather_kernel(geometry)
    pixels = out_height * out_width
    images = min(batch, max(1, PRODUCTS // (pixels * taps)))
    weights = weight.reshape(out_channels, taps)
    for first in range(0, batch, images):
        some = next_grad[first : first + images].reshape(-1, out_channels)
        products = empty((some.shape[0] // pixels, out_height, out_width, taps))
        sgemm(some, weights, products.reshape(-1, taps))
        gather(products, dx[first : first + images])


@cache
def covers(image: tuple[int, ...], weight: tuple[int, ...], stride: Pair, dilation: Pair) -> bool:
    """Whether there are kernels for images and weights of these shapes: the ranks and channels fit, and so does one window or more."""
    if len(image) != 3 or len(weight) != 4 or image[2] != weight[3]:
        return False
    return min(map(output_size, image[:2], weight[1:3], stride, dilation)) >= 1


@cache
def _sizes(image: tuple[int, int, int], weight: tuple[int, ...], stride: Pair, dilation: Pair) -> tuple[Geometry, tuple[int, int, int]]:
    """The geometry, and the shape of y without the batch."""
    height, width, in_channels = image
    # NumPy's integers are no part of a kernel's key: their repr is another one.
    steps = (int(stride[0]), int(stride[1])), (int(dilation[0]), int(dilation[1]))
    geometry = Geometry((height, width), in_channels, weight[0], (weight[1], weight[2]), *steps)
    return geometry, (*geometry.out(), weight[0])


# Kernels: of convolutions with padding, activation and pooling as well, for conv_act_pool.


@cache
def forward_kernel(geometry: Geometry, biased: bool, activation: Activation, keeps: bool = True) -> Kernel:
    """x, weight, and bias if there is one; y, and winners if it pools and ``keeps`` them for backward."""
    inputs = (_image(geometry), _weight(geometry), *([Array(geometry.out_channels)] if biased else []))
    shape = ("batch", *geometry.out(), geometry.out_channels)
    outputs = (Array(*shape), *([Array(*shape, dtype="uint8")] if keeps and geometry.pool > 1 else []))
    options = {"geometry": geometry, "activation": activation, "keeps": keeps}
    return kernel("conv2d.forward", direct.build_forward, inputs=inputs, outputs=outputs, options=options)


@cache
def dweight_kernel(geometry: Geometry, activation: Activation, few: bool = True) -> Kernel:
    """x, dy, y unless the activation is the identity, winners if it pools; dweight, dbias. ``few``: for up to `dweight.FEW` images."""
    outputs = (_weight(geometry), Array(geometry.out_channels))
    return kernel(
        "conv2d.dweight",
        dweight.build_dweight,
        inputs=(_image(geometry), *_derivative(geometry, activation)),
        outputs=outputs,
        options={"geometry": geometry, "activation": activation, "few": few},
    )


@cache
def dx_kernel(geometry: Geometry, activation: Activation) -> Kernel:
    """dy, then weight, then y and winners as `dweight_kernel` takes them; dx."""
    dy, *others = _derivative(geometry, activation)
    return kernel(
        "conv2d.dx",
        direct.build_dx,
        inputs=(dy, _weight(geometry), *others),
        outputs=(_image(geometry),),
        options={"geometry": geometry, "activation": activation},
    )


@cache
def gather_kernel(geometry: Geometry) -> Kernel:
    """Products of every weight with every pixel of dy; dx."""
    taps = geometry.kernel_size[0] * geometry.kernel_size[1] * geometry.in_channels
    outputs = (Array("batch", *geometry.size, geometry.in_channels),)
    inputs = (Array("batch", *geometry.out(), taps),)
    return kernel("conv2d.gather", build_gather, inputs=inputs, outputs=outputs, options={"geometry": geometry})


def _image(geometry: Geometry) -> Array:
    return Array("batch", *geometry.size, geometry.in_channels)


def _weight(geometry: Geometry) -> Array:
    return Array(geometry.out_channels, *geometry.kernel_size, geometry.in_channels)


def _derivative(geometry: Geometry, activation: Activation) -> list[Array]:
    shape = ("batch", *geometry.out(), geometry.out_channels)
    y = [] if activation == IDENTITY else [Array(*shape)]
    return [Array(*shape), *y, *([Array(*shape, dtype="uint8")] if geometry.pool > 1 else [])]


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
    lanes = min(cpu.lanes, power(channels))
    guard = hl.TailStrategy.GuardWithIf
    dx.bound(c, 0, channels).vectorize(c, lanes, guard)
    direct.parallel(hl, dx, n, 2 * taps_down * taps_across * channels * geometry.size[0] * geometry.size[1])
    sums.compute_at(dx, x).store_in(hl.MemoryType.Stack).vectorize(c, lanes, guard)
    sums.update().reorder(c, taps.x, taps.y).vectorize(c, lanes, guard).never_partition_all()
    return dx


def kernels(image: tuple[int, int, int], weight: tuple[int, int, int, int], stride: Pair, dilation: Pair) -> list[Kernel]:
    """Every kernel that such a convolution may need, none of them compiled yet."""
    geometry, _ = _sizes(image, weight, stride, dilation)
    of_input = [dx_kernel(geometry, IDENTITY)] if stride == (1, 1) else []
    ways = [forward_kernel(geometry, biased, IDENTITY) for biased in (False, True)]
    return [*ways, dweight_kernel(geometry, IDENTITY), *of_input, gather_kernel(geometry)]
