"""Softmax: each row becomes a distribution over its features."""

from typednn.kernels.softmax.reference import backward, forward

__all__ = ["backward", "forward"]
