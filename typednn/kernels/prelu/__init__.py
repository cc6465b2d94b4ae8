"""PReLU: what is negative is scaled by a learnt slope."""

from typednn.kernels.prelu.reference import backward, forward

__all__ = ["backward", "forward"]
