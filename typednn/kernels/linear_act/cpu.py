"""Linear and an activation on NumPy's float32 arrays: linear's own kernels, which end or begin with the activation."""

from __future__ import annotations

from typing import Any

from typednn.kernels.activations import Activation
from typednn.kernels.linear import cpu


def forward(x: Any, weight: Any, bias: Any, activation: Activation) -> Any:
    """y (batch, out_features)."""
    return cpu.forward(x, weight, bias, activation, "linear_act.forward")


def backward(next_grad: Any, x: Any, y: Any, weight: Any, activation: Activation, wants_input: bool) -> tuple[Any, Any, Any]:
    """(dx, dweight, dbias); dx is None unless wanted."""
    return cpu.backward(next_grad, x, weight, y, activation, wants_input, "linear_act.backward")
