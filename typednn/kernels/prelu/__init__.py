"""PReLU: negative numbers are scaled by a learnt slope."""

from typing import Final

from typednn.arrays import AnyArray, Array1
from typednn.kernels.op import Engine, op
from typednn.kernels.prelu import cpu, reference


def _covers(next_grad: AnyArray, x: AnyArray, slope: Array1) -> bool:
    return next_grad.shape == x.shape


backward: Final = op(
    "prelu.backward",
    reference.backward,
    Engine("halide", cpu.backward, "x next_grad slope", sizes=_covers),
    flops=4,
)
forward: Final = op(
    "prelu.forward",
    reference.forward,
    Engine("halide", cpu.forward, "x slope"),
    flops=2,
    keeps="x slope",
    backward=backward,
)
