"""ReLU: what is negative becomes zero."""

from typednn.kernels.relu.reference import backward, forward

__all__ = ["backward", "forward"]
