"""Positions: what tells attention where in a sequence each vector stands."""

# Lambdas take the arguments of the op.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from typing import Final

from typednn.kernels.op import op
from typednn.kernels.positions import reference

add_sines: Final = op("add_sines", reference.add_sines, flops=lambda x, first: x.size)
learned_backward: Final = op(
    "learned_positions.backward", reference.learned_backward, flops=lambda next_grad, length: next_grad.size
)
add_learned: Final = op(
    "learned_positions.forward", reference.add_learned, flops=lambda x, weight, first: x.size, backward=learned_backward
)
rotate: Final = op("rotate", reference.rotate, flops=lambda x, base, first, back: 3 * x.size)

__all__ = ["add_learned", "add_sines", "learned_backward", "rotate"]
