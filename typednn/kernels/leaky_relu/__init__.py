"""LeakyReLU: what is negative is scaled by a given slope."""

from typednn.kernels.leaky_relu.reference import backward, forward

__all__ = ["backward", "forward"]
