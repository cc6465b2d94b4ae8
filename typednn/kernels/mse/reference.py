"""Squared error of each element, before its reduction.

loss = (prediction - target)²       gradient = 2·scale·(prediction - target)

Any shape, kept. ``scale`` is the reduction's 1/alpha: 1/(batch·features) for the mean, 1 for the sum.
Source: "Deep Learning Implementation With Rust", eqs 40-41.
"""

from __future__ import annotations

from typing import Any, TypeVar

from typednn.arrays import AnyArray

P = TypeVar("P", bound=AnyArray)


def elementwise(prediction: P, target: P) -> P:
    """The loss of each element."""
    difference: Any = prediction - target
    loss: P = difference * difference
    return loss


def gradient(prediction: P, target: P, scale: float) -> P:
    """The scaled loss by each prediction."""
    difference: Any = prediction - target
    grad: P = 2 * scale * difference
    return grad
