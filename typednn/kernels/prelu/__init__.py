"""PReLU: negative numbers are scaled by a learnt slope."""

# Lambdas take the arguments of the op.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from typing import Final

from typednn.kernels.op import Engine, op
from typednn.kernels.prelu import cpu, reference

backward: Final = op(
    "prelu.backward",
    reference.backward,
    Engine(
        "halide",
        cpu.backward,
        "x next_grad slope",
        least=cpu.SUMS,
        sizes=lambda next_grad, x, slope: next_grad.shape == x.shape,
    ),
    flops=lambda next_grad, x, slope: 4 * x.size,
)
forward: Final = op(
    "prelu.forward",
    reference.forward,
    Engine("halide", cpu.forward, "x slope"),
    flops=lambda x, slope: 2 * x.size,
    keeps="x slope",
    backward=backward,
)
