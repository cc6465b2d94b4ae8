"""Embedding: a row of a matrix for each token."""

# Lambdas take the arguments of the op.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from typing import Final

from typednn.kernels.embedding import cpu, reference
from typednn.kernels.op import Engine, op

backward: Final = op(
    "embedding.backward",
    reference.backward,
    Engine("rows", cpu.backward_of_rare, "next_grad", others={"tokens": "int64 int32 int16 uint8"}, sizes=cpu.is_rare),
    Engine("halide", cpu.backward, "next_grad", others={"tokens": "int64 int32 int16 uint8"}, plan=cpu.plan),
    flops=lambda next_grad, tokens, vocab, padding: next_grad.size,
)
forward: Final = op(
    "embedding.forward",
    reference.forward,
    flops=lambda tokens, weight: 0,
    keeps="tokens",
    backward=backward,
)

__all__ = ["backward", "forward"]
