"""Compact linear: an affine map whose weights are kept in 16 or 8 bits; without a derivative."""

from typing import Final

from typednn.kernels.compact_linear import cpu, reference
from typednn.kernels.compact_linear.reference import packed, widened
from typednn.kernels.op import Engine, flops_of, op

forward: Final = op(
    "compact_linear.forward",
    reference.forward,
    Engine("halide", cpu.forward, "x scale bias", others={"weight": "uint16 int8"}, plan=cpu.plan),
    flops=flops_of(reference.forward, lambda x, weight, scale=None, bias=None: 2 * x.shape[0] * weight.size),
)

__all__ = ["forward", "packed", "widened"]
