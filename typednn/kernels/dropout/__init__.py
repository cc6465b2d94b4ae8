"""Dropout: numbers, or whole channels, become zero at random."""

# Lambdas take the arguments of the op.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from typing import Final

from typednn.kernels.dropout import cpu, reference
from typednn.kernels.op import Engine, op

# Forward and backward: each number by the same factor.
dropout: Final = op(
    "dropout",
    reference.dropout,
    Engine("halide", cpu.dropout, "x", sizes=cpu.sizes),
    flops=lambda x, p, key, drawn, whole: 2 * x.size,
)
