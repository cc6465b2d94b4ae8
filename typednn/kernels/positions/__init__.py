"""Positions: what tells attention where in a sequence each vector stands."""

from typing import Final

from typednn.kernels.op import op
from typednn.kernels.positions import reference

add_sines: Final = op("add_sines", reference.add_sines, flops=1)
learned_backward: Final = op("learned_positions.backward", reference.learned_backward, flops=1)
add_learned: Final = op(
    "learned_positions.forward",
    reference.add_learned,
    flops=1,
    backward=learned_backward,
)
rotate: Final = op("rotate", reference.rotate, flops=3)

__all__ = ["add_learned", "add_sines", "learned_backward", "rotate"]
