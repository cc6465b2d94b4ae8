"""Embedding: a row of a matrix for each token. ``add_backward`` adds the derivative to one by another use of the
matrix.
"""

from typing import Final

from typednn.kernels.embedding import cpu, reference
from typednn.kernels.op import Engine, flops_of, op

backward: Final = op(
    "embedding.backward",
    reference.backward,
    Engine("rows", cpu.backward_of_rare, "next_grad", others={"tokens": "int64 int32 int16 uint8"}, sizes=cpu.is_rare),
    Engine("halide", cpu.backward, "next_grad", others={"tokens": "int64 int32 int16 uint8"}, plan=cpu.plan),
    flops=1,
)
add_backward: Final = op(
    "embedding.add_backward",
    reference.add_backward,
    Engine(
        "rows",
        cpu.add_backward_of_rare,
        "dweight next_grad",
        others={"tokens": "int64 int32 int16 uint8"},
        sizes=cpu.is_rare_in,
    ),
    Engine(
        "halide", cpu.add_backward, "dweight next_grad", others={"tokens": "int64 int32 int16 uint8"}, plan=cpu.plan_add
    ),
    flops=flops_of(reference.add_backward, lambda dweight, next_grad, tokens, padding=None: next_grad.size),
    writes="dweight",
)
forward: Final = op(
    "embedding.forward",
    reference.forward,
    flops=0,
    keeps="tokens",
    backward=backward,
)

__all__ = ["add_backward", "backward", "forward"]
