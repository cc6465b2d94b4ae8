"""Linear: one affine map, applied to every row of a batch."""

from __future__ import annotations

from typednn.arrays import Array1, Array2
from typednn.engines import fast, record
from typednn.kernels.linear import cpu, reference

__all__ = ["backward", "forward"]


def forward(x: Array2, weight: Array2, bias: Array1 | None) -> Array2:
    """y (batch, out_features) = x weightᵀ + bias."""
    if fast(x, weight, weight if bias is None else bias):
        y: Array2 = cpu.forward(x, weight, bias)
        return y
    record("linear.forward", "reference")
    return reference.forward(x, weight, bias)


def backward(next_grad: Array2, x: Array2, weight: Array2) -> tuple[Array2, Array2, Array1]:
    """(dx, dweight, dbias), shaped like x, weight and bias."""
    if fast(next_grad, x, weight):
        return cpu.backward(next_grad, x, weight)
    record("linear.backward", "reference")
    return reference.backward(next_grad, x, weight)
