"""GLU: one half of the features, each gated by its partner in the other half."""

from typing import Final

from typednn.kernels.glu import cpu, reference
from typednn.kernels.op import Engine, flops_of, op

backward: Final = op(
    "glu.backward",
    reference.backward,
    Engine("halide", cpu.backward, "x next_grad"),
    flops=8,
)
forward: Final = op(
    "glu.forward",
    reference.forward,
    Engine("halide", cpu.forward, "x"),
    flops=flops_of(reference.forward, lambda x: 5 * (x.size // 2)),
    keeps="x",
    backward=backward,
)
