"""Cross entropy of logits, before its reduction; labels as one-hot rows."""

from __future__ import annotations

from typednn.arrays import Array2
from typednn.engines import fast, record
from typednn.kernels.softmax_cross_entropy import cpu, cuda, reference
from typednn.kernels.softmax_cross_entropy.reference import one_hot

__all__ = ["elementwise", "gradient", "one_hot"]


def elementwise(logits: Array2, target: Array2) -> Array2:
    """The loss of each sample and class; 0 where the target is 0, even for a logit of -inf."""
    if fast(logits, target) and logits.shape == target.shape and logits.shape[1] >= cpu.LEAST_CLASSES:
        return cpu.elementwise(logits, target)
    if cuda.covers(logits, target):
        return cuda.elementwise(logits, target)
    record("softmax_cross_entropy.elementwise", "reference")
    return reference.elementwise(logits, target)


def gradient(logits: Array2, target: Array2, scale: float) -> Array2:
    """The scaled loss by each logit."""
    if fast(logits, target) and logits.shape == target.shape and logits.shape[1] >= cpu.LEAST_CLASSES:
        return cpu.gradient(logits, target, scale)
    if cuda.covers(logits, target):
        return cuda.gradient(logits, target, scale)
    record("softmax_cross_entropy.gradient", "reference")
    return reference.gradient(logits, target, scale)
