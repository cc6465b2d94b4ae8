"""Softmax: each row becomes a distribution over its features."""

from typing import Final

from typednn.kernels.op import Engine, op
from typednn.kernels.softmax import cpu, reference

backward: Final = op(
    "softmax.backward",
    reference.backward,
    Engine("halide", cpu.backward, "next_grad y", same_shape=True, plan=cpu.plan),
    flops=4,
)
forward: Final = op(
    "softmax.forward",
    reference.forward,
    Engine("halide", cpu.forward, "x", plan=cpu.plan),
    flops=5,
    keeps="y",
    backward=backward,
)
