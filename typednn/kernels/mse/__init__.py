"""Mean squared error, before its reduction."""

from __future__ import annotations

from typing import TypeVar

from typednn.arrays import AnyArray
from typednn.engines import fast, record
from typednn.kernels.elementwise import SMALL
from typednn.kernels.mse import cpu, reference

P = TypeVar("P", bound=AnyArray)

__all__ = ["elementwise", "gradient"]


def elementwise(prediction: P, target: P) -> P:
    """The loss of each element."""
    if prediction.size > SMALL and fast(prediction, target) and prediction.shape == target.shape:
        return cpu.elementwise(prediction, target)
    record("mse.elementwise", "reference")
    return reference.elementwise(prediction, target)


def gradient(prediction: P, target: P, scale: float) -> P:
    """The scaled loss by each prediction."""
    if prediction.size > SMALL and fast(prediction, target) and prediction.shape == target.shape:
        return cpu.gradient(prediction, target, scale)
    record("mse.gradient", "reference")
    return reference.gradient(prediction, target, scale)
