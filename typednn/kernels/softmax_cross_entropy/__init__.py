"""Cross entropy of logits, before its reduction; the target is a label for each sample, or a probability for each class."""

from __future__ import annotations

from typing import Any

import numpy as np

from typednn.arrays import Array2, IntArray1
from typednn.engines import fast, fits, record
from typednn.kernels.softmax_cross_entropy import cpu, cuda, reference
from typednn.kernels.softmax_cross_entropy.reference import one_hot

__all__ = ["elementwise", "gradient", "one_hot"]

_INT64 = np.dtype(np.int64)


def elementwise(logits: Array2, target: Array2 | IntArray1) -> Array2:
    """The loss of each sample and class; 0 where the target is 0, even for a logit of -inf."""
    if _on_cpu(logits, target):
        return cpu.elementwise(logits, target)
    probabilities = _probabilities(logits, target)
    if cuda.covers(logits, probabilities):
        return cuda.elementwise(logits, probabilities)
    record("softmax_cross_entropy.elementwise", "reference")
    return reference.elementwise(logits, probabilities)


def gradient(logits: Array2, target: Array2 | IntArray1, scale: float) -> Array2:
    """The scaled loss by each logit."""
    if _on_cpu(logits, target):
        return cpu.gradient(logits, target, scale)
    probabilities = _probabilities(logits, target)
    if cuda.covers(logits, probabilities):
        return cuda.gradient(logits, probabilities, scale)
    record("softmax_cross_entropy.gradient", "reference")
    return reference.gradient(logits, probabilities, scale)


def _on_cpu(logits: Array2, target: Array2 | IntArray1) -> bool:
    if len(target.shape) == 1:
        covered = fast(logits) and fits(_INT64, target) and logits.shape[:1] == target.shape
    else:
        covered = fast(logits, target) and logits.shape == target.shape
    return covered and logits.shape[1] >= cpu.LEAST_CLASSES


def _probabilities(logits: Array2, target: Any) -> Array2:
    if len(target.shape) == 1:
        return one_hot(target, logits.shape[1], logits.dtype, logits)
    probabilities: Array2 = target
    return probabilities
