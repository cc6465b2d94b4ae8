"""Linear and an activation in one."""

from __future__ import annotations

from typednn.arrays import Array1, Array2
from typednn.engines import fast, record
from typednn.kernels.activations import Activation
from typednn.kernels.linear_act import cpu, reference


def forward(x: Array2, weight: Array2, bias: Array1 | None, activation: Activation) -> Array2:
    """y (batch, out_features)."""
    if fast(x, weight, weight if bias is None else bias):
        y: Array2 = cpu.forward(x, weight, bias, activation)
        return y
    record("linear_act.forward", "reference")
    return reference.forward(x, weight, bias, activation)


def backward(
    next_grad: Array2, x: Array2, y: Array2, weight: Array2, activation: Activation, wants_input: bool = True
) -> tuple[Array2 | None, Array2, Array1]:
    """(dx, dweight, dbias), shaped like x, weight and bias; dx is None unless wanted. ``y`` is what `forward` gave."""
    if fast(next_grad, x, y, weight):
        return cpu.backward(next_grad, x, y, weight, activation, wants_input)
    record("linear_act.backward", "reference")
    return reference.backward(next_grad, x, y, weight, activation, wants_input)


__all__ = ["backward", "forward"]
