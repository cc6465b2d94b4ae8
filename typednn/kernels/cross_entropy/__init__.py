"""Cross entropy of probabilities, before its reduction."""

from __future__ import annotations

from typing import TypeVar

from typednn.arrays import AnyArray
from typednn.engines import fast, record
from typednn.kernels.cross_entropy import cpu, reference

P = TypeVar("P", bound=AnyArray)

__all__ = ["elementwise", "gradient"]


def elementwise(prediction: P, target: P, eps: float) -> P:
    """The loss of each element."""
    if fast(prediction, target) and prediction.shape == target.shape and eps >= cpu.LEAST_EPS:
        return cpu.elementwise(prediction, target, eps)
    record("cross_entropy.elementwise", "reference")
    return reference.elementwise(prediction, target, eps)


def gradient(prediction: P, target: P, eps: float, scale: float) -> P:
    """The scaled loss by each prediction."""
    if fast(prediction, target) and prediction.shape == target.shape and eps >= cpu.LEAST_EPS:
        return cpu.gradient(prediction, target, eps, scale)
    record("cross_entropy.gradient", "reference")
    return reference.gradient(prediction, target, eps, scale)
