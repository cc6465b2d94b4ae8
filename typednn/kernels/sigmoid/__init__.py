"""Sigmoid: any number into the interval from 0 to 1."""

from typednn.kernels.sigmoid.reference import backward, forward

__all__ = ["backward", "forward"]
