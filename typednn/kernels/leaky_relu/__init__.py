"""LeakyReLU: what is negative is scaled by a given slope."""

from __future__ import annotations

from typing import TypeVar

from typednn.arrays import AnyArray
from typednn.engines import fast, record
from typednn.kernels.leaky_relu import cpu, reference

P = TypeVar("P", bound=AnyArray)

__all__ = ["backward", "forward"]


def forward(x: P, negative_slope: float) -> P:
    """y, shaped like x."""
    if fast(x):
        return cpu.forward(x, negative_slope)
    record("leaky_relu.forward", "reference")
    return reference.forward(x, negative_slope)


def backward(next_grad: P, x: AnyArray, negative_slope: float) -> P:
    """dx, shaped like x."""
    if fast(next_grad, x) and next_grad.shape == x.shape:
        return cpu.backward(next_grad, x, negative_slope)
    record("leaky_relu.backward", "reference")
    return reference.backward(next_grad, x, negative_slope)
