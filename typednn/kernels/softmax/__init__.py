"""Softmax: each row becomes a distribution over its features."""

# Lambdas take the arguments of the op.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from typing import Final

from typednn.kernels.op import Engine, op
from typednn.kernels.softmax import cpu, reference

backward: Final = op(
    "softmax.backward",
    reference.backward,
    Engine("halide", cpu.backward, "next_grad y", same_shape=True, plan=cpu.plan),
    flops=lambda next_grad, y: 4 * y.size,
)
forward: Final = op(
    "softmax.forward",
    reference.forward,
    Engine("halide", cpu.forward, "x", plan=cpu.plan),
    flops=lambda x: 5 * x.size,
    keeps="y",
    backward=backward,
)
