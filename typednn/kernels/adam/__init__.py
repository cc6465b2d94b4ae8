"""Adam: a step scaled by the running mean and spread of the gradient."""

from typednn.kernels.adam.reference import step

__all__ = ["step"]
