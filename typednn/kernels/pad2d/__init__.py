"""Pad2d: a border around every image; the border sizes that are called same and full."""

from __future__ import annotations

from typing import Literal

from typednn.arrays import Array4
from typednn.engines import fast, record
from typednn.kernels.pad2d import cpu, cuda, reference
from typednn.kernels.pad2d.reference import full_padding, same_padding

__all__ = ["backward", "forward", "full_padding", "same_padding"]


def forward(x: Array4, padding: tuple[int, int, int, int], mode: Literal["constant", "replicate"], value: float) -> Array4:
    """y; ``value`` is read in mode "constant" only."""
    if fast(x):
        return cpu.forward(x, padding, mode, value)
    if cuda.covers(x, padding):
        return cuda.forward(x, padding, mode, value)
    record("pad2d.forward", "reference")
    return reference.forward(x, padding, mode, value)


def backward(next_grad: Array4, padding: tuple[int, int, int, int], mode: Literal["constant", "replicate"]) -> Array4:
    """dx, smaller than dy by the border."""
    if fast(next_grad):
        return cpu.backward(next_grad, padding, mode)
    if cuda.covers_backward(next_grad, padding):
        return cuda.backward(next_grad, padding, mode)
    record("pad2d.backward", "reference")
    return reference.backward(next_grad, padding, mode)
