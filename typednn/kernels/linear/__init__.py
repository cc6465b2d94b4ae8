"""Linear: one affine map, applied to every row of a batch."""

from typednn.kernels.linear.reference import backward, forward

__all__ = ["backward", "forward"]
