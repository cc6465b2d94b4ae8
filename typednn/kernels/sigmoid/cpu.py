"""Sigmoid in Halide: one pass over memory each way, and one exponential, of -|x|, as in reference.py.

Results below the smallest normal number, 1.2e-38, become 0.
"""

from __future__ import annotations

from typing import Any, TypeVar

from typednn.arrays import AnyArray
from typednn.engines import Cpu, empty, kernel, record
from typednn.kernels.elementwise import DEAR, ELEMENTS, decay, scheduled, times_slope

P = TypeVar("P", bound=AnyArray)


def value(hl: Any, x: Any) -> Any:
    """y at ``x``."""
    small = decay(hl, -hl.abs(x))
    return hl.select(x < 0, small, hl.f32(1)) / (hl.f32(1) + small)


def passed(hl: Any, next_grad: Any, y: Any) -> Any:
    """dx from ``next_grad`` and ``y``."""
    return times_slope(hl, next_grad, y * (hl.f32(1) - y))


def _build_forward(hl: Any, cpu: Cpu, x: Any) -> Any:
    i, y = hl.Var("i"), hl.Func("y")
    y[i] = value(hl, x[i])
    return scheduled(hl, cpu, y, i, x.dim(0).extent(), DEAR)


def _build_backward(hl: Any, cpu: Cpu, next_grad: Any, y: Any) -> Any:
    i, dx = hl.Var("i"), hl.Func("dx")
    dx[i] = passed(hl, next_grad[i], y[i])
    return scheduled(hl, cpu, dx, i, y.dim(0).extent())


_forward = kernel("sigmoid.forward", _build_forward, inputs=(ELEMENTS,), outputs=(ELEMENTS,))
_backward = kernel("sigmoid.backward", _build_backward, inputs=(ELEMENTS, ELEMENTS), outputs=(ELEMENTS,))


def forward(x: P) -> P:
    """y, shaped like x."""
    y: P = empty(x.shape)
    _forward(x, y)
    record("sigmoid.forward", "halide")
    return y


def backward(next_grad: P, y: AnyArray) -> P:
    """dx, from what `forward` gave."""
    dx: P = empty(y.shape)
    _backward(next_grad, y, dx)
    record("sigmoid.backward", "halide")
    return dx
