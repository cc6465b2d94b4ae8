"""GroupNorm: every group of channels of an image with mean 0 and variance 1."""

# Lambdas take the arguments of the op.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from typing import Final

from typednn.kernels.group_norm import cpu, reference
from typednn.kernels.op import Engine, op

backward: Final = op(
    "group_norm.backward",
    reference.backward,
    Engine("halide", cpu.backward, "next_grad x weight", plan=cpu.plan_backward),
    flops=lambda next_grad, x, weight, groups, eps: 16 * x.size,
)
forward: Final = op(
    "group_norm.forward",
    reference.forward,
    Engine("halide", cpu.forward, "x weight bias", plan=cpu.plan),
    flops=lambda x, weight, bias, groups, eps: 8 * x.size,
    keeps="x weight",
    backward=backward,
)
