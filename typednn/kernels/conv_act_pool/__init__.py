"""Convolution, activation and max pool in one, or the first two."""

from __future__ import annotations

from typednn.arrays import AnyIntArray, Array1, Array4
from typednn.engines import fast, record
from typednn.kernels.activations import RELU, Activation
from typednn.kernels.conv2d import cpu as conv2d
from typednn.kernels.conv_act_pool import cpu, reference
from typednn.kernels.conv_act_pool.geometry import Geometry


def infer(x: Array4, weight: Array4, bias: Array1 | None, geometry: Geometry, activation: Activation = RELU) -> Array4:
    """y alone, where nothing is kept for `backward`."""
    if fast(x, weight) if bias is None else fast(x, weight, bias):
        found = cpu.forward_of(x.shape[1:], weight.shape, bias is not None, geometry, activation, False)
        if found is not None:
            y: Array4 = cpu.infer(x, weight, bias, *found)
            return y
    record("conv_act_pool.forward", "reference")
    return reference.infer(x, weight, bias, geometry, activation)


def forward(
    x: Array4, weight: Array4, bias: Array1 | None, geometry: Geometry, activation: Activation = RELU
) -> tuple[Array4, AnyIntArray | None]:
    """(y, winners), both (batch, out_height, out_width, out_channels); None in the place of winners where nothing is pooled."""
    if geometry.pool_size is None:
        return infer(x, weight, bias, geometry, activation), None
    if fast(x, weight) if bias is None else fast(x, weight, bias):
        found = cpu.forward_of(x.shape[1:], weight.shape, bias is not None, geometry, activation, True)
        if found is not None:
            return cpu.forward(x, weight, bias, *found)
    record("conv_act_pool.forward", "reference")
    return reference.forward(x, weight, bias, geometry, activation)


def backward(
    next_grad: Array4,
    x: Array4,
    weight: Array4,
    y: Array4,
    winners: AnyIntArray | None,
    geometry: Geometry,
    activation: Activation = RELU,
    wants_input: bool = True,
) -> tuple[Array4 | None, Array4, Array1]:
    """(dx, dweight, dbias), shaped like x, weight and bias; dx is None unless wanted. ``y`` and ``winners`` are what `forward` gave."""
    if fast(next_grad, x, weight, y) and (winners is None or winners.flags.c_contiguous):
        sizes = cpu.sizes_of(x.shape[1:], weight.shape, geometry)
        if sizes is not None and (not wants_input or conv2d.dx_is_direct(sizes, weight)):
            return cpu.backward(next_grad, x, weight, y, winners, sizes, activation, wants_input)
    record("conv_act_pool.backward", "reference")
    return reference.backward(next_grad, x, weight, y, winners, geometry, activation, wants_input)


__all__ = ["backward", "forward", "infer"]
