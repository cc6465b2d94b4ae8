"""MaxPool2d: the largest pixel of each window."""

from typednn.kernels.max_pool2d.reference import backward, forward

__all__ = ["backward", "forward"]
