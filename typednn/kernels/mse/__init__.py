"""Mean squared error, before its reduction."""

from typednn.kernels.mse.reference import elementwise, gradient

__all__ = ["elementwise", "gradient"]
