"""Conv, ReLU and max pool in one."""

from __future__ import annotations

from typednn.arrays import AnyIntArray, Array1, Array4
from typednn.engines import fast, record
from typednn.kernels.conv_act_pool import cpu, reference
from typednn.kernels.conv_act_pool.geometry import Geometry


def forward(x: Array4, weight: Array4, bias: Array1 | None, geometry: Geometry) -> tuple[Array4, AnyIntArray]:
    """(y, winners), both (batch, out_height, out_width, out_channels)."""
    if fast(x, weight) if bias is None else fast(x, weight, bias):
        sizes = cpu.sizes_of(x.shape[1:], weight.shape, geometry)
        if sizes is not None:
            return cpu.forward(x, weight, bias, sizes)
    record("conv_act_pool.forward", "reference")
    return reference.forward(x, weight, bias, geometry)


def backward(
    next_grad: Array4, x: Array4, weight: Array4, winners: AnyIntArray, geometry: Geometry, wants_input: bool = True
) -> tuple[Array4 | None, Array4, Array1]:
    """(dx, dweight, dbias), shaped like x, weight and bias; dx is None unless wanted."""
    if fast(next_grad, x, weight) and winners.flags.c_contiguous:
        sizes = cpu.sizes_of(x.shape[1:], weight.shape, geometry)
        if sizes is not None:
            return cpu.backward(next_grad, x, weight, winners, sizes, wants_input)
    record("conv_act_pool.backward", "reference")
    return reference.backward(next_grad, x, weight, winners, geometry, wants_input)


__all__ = ["backward", "forward"]
