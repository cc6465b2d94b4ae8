"""Cross entropy of logits, before its reduction; labels as one-hot rows."""

from typednn.kernels.softmax_cross_entropy.reference import elementwise, gradient, one_hot

__all__ = ["elementwise", "gradient", "one_hot"]
