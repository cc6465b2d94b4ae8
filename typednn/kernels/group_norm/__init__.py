"""GroupNorm: every group of channels of an image with mean 0 and variance 1."""

from typing import Final

from typednn.kernels.group_norm import cpu, reference
from typednn.kernels.op import Engine, op

backward: Final = op(
    "group_norm.backward",
    reference.backward,
    Engine("halide", cpu.backward, "next_grad x weight", plan=cpu.plan_backward),
    flops=16,
)
forward: Final = op(
    "group_norm.forward",
    reference.forward,
    Engine("halide", cpu.forward, "x weight bias", plan=cpu.plan),
    flops=8,
    keeps="x weight",
    backward=backward,
)
