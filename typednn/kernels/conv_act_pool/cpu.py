"""Convolution, activation and pooling as three kernels: forward, the derivative by weight and bias, the one by the input.

They are conv2d's (`typednn.kernels.conv2d`): padding is laid around each image just before it is read, the activation and the largest of
each pooling window are taken while the sums are in registers, and backward lays out dz, zero but at the winners, image by image as well.
So nothing between the layers is written to memory. Multiplying dz's zeros costs less than stepping around them: measured.

dx at a stride other than 1 is left to the ops one after another.

NaN: what no pooling window meets is not read, nor is what it was made from. The reference multiplies those numbers by 0, and so lets a NaN
or infinity among them into dweight and dx; here they stay out.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from typednn.engines import Kernel, empty, record
from typednn.kernels.activations import IDENTITY, Activation
from typednn.kernels.conv2d import cpu as conv2d
from typednn.kernels.conv2d import dweight
from typednn.kernels.conv2d.geometry import Geometry as Sizes
from typednn.kernels.conv_act_pool.geometry import Geometry

_UINT8 = np.dtype(np.uint8)


@cache
def sizes_of(image: tuple[int, int, int], weight: tuple[int, int, int, int], geometry: Geometry) -> Sizes | None:
    """The sizes of a convolution that these kernels compute; None for others."""
    if image[2] != weight[3] or not geometry.side_by_side:
        return None
    pool = 1 if geometry.pool_size is None else geometry.pool_size[0]
    sizes = Sizes(image[:2], image[2], weight[0], weight[1:3], geometry.stride, geometry.dilation, geometry.padding, pool)
    return sizes if min(sizes.out()) >= 1 else None


@cache
def forward_of(
    image: tuple[int, int, int], weight: tuple[int, int, int, int], biased: bool, geometry: Geometry, activation: Activation, keeps: bool
) -> tuple[Kernel, tuple[int, int, int]] | None:
    """The kernel of y, with the winners if it ``keeps`` them, and the shape of y without the batch; None where `sizes_of` says so."""
    sizes = sizes_of(image, weight, geometry)
    if sizes is None:
        return None
    return conv2d.forward_kernel(sizes, biased, activation, keeps and sizes.pool > 1), (*sizes.out(), sizes.out_channels)


def infer(x: Any, weight: Any, bias: Any, kernel: Kernel, out: tuple[int, int, int]) -> Any:
    """y alone."""
    y = empty((x.shape[0], *out))
    if bias is None:
        kernel.call(x, weight, y)
    else:
        kernel.call(x, weight, bias, y)
    record("conv_act_pool.forward", "halide")
    return y


def forward(x: Any, weight: Any, bias: Any, kernel: Kernel, out: tuple[int, int, int]) -> tuple[Any, Any]:
    """(y, winners)."""
    shape = (x.shape[0], *out)
    y, winners = empty(shape), empty(shape, _UINT8)
    if bias is None:
        kernel.call(x, weight, y, winners)
    else:
        kernel.call(x, weight, bias, y, winners)
    record("conv_act_pool.forward", "halide")
    return y, winners


def backward(
    next_grad: Any, x: Any, weight: Any, y: Any, winners: Any, sizes: Sizes, activation: Activation, wants_input: bool
) -> tuple[Any, Any, Any]:
    """(dx, dweight, dbias); dx is None unless wanted."""
    kept = [array for array in (None if activation == IDENTITY else y, winners) if array is not None]
    of_weight, dbias = empty(weight.shape), empty(weight.shape[:1])
    conv2d.dweight_kernel(sizes, activation, x.shape[0] <= dweight.FEW).call(x, next_grad, *kept, of_weight, dbias)
    dx = None
    if wants_input:
        dx = empty(x.shape)
        conv2d.dx_kernel(sizes, activation).call(next_grad, weight, *kept, dx)
    record("conv_act_pool.backward", "halide")
    return dx, of_weight, dbias
