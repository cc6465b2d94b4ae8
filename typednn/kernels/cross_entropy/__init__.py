"""Cross entropy of probabilities, before its reduction."""

from typednn.kernels.cross_entropy.reference import elementwise, gradient

__all__ = ["elementwise", "gradient"]
