"""PReLU: what is negative is scaled by a learnt slope."""

from __future__ import annotations

from typing import TypeVar

from typednn.arrays import AnyArray, Array1
from typednn.engines import fast, record
from typednn.kernels.prelu import cpu, reference

P = TypeVar("P", bound=AnyArray)

__all__ = ["backward", "forward"]


def forward(x: P, slope: Array1) -> P:
    """y, shaped like x."""
    if fast(x, slope):
        return cpu.forward(x, slope)
    record("prelu.forward", "reference")
    return reference.forward(x, slope)


def backward(next_grad: P, x: AnyArray, slope: Array1) -> tuple[P, Array1]:
    """(dx, dslope), shaped like x and slope."""
    if fast(next_grad, x, slope) and next_grad.shape == x.shape and x.size >= cpu.LEAST_SIZE:
        return cpu.backward(next_grad, x, slope)
    record("prelu.backward", "reference")
    return reference.backward(next_grad, x, slope)
