"""Tanh: any number into the interval from -1 to 1."""

from typednn.kernels.tanh.reference import backward, forward

__all__ = ["backward", "forward"]
