"""ReLU in Halide: one pass over memory each way. The formulas are those of reference.py, and so are the bits."""

from __future__ import annotations

from typing import Any, TypeVar

from typednn.arrays import AnyArray
from typednn.engines import Cpu, empty, kernel, nan, record
from typednn.kernels.elementwise import ELEMENTS, is_positive, scheduled

P = TypeVar("P", bound=AnyArray)


def value(hl: Any, x: Any) -> Any:
    """y at ``x``."""
    return nan.relu(hl, x)


def passed(hl: Any, next_grad: Any, x: Any) -> Any:
    """dx from ``next_grad`` and ``x``, or y, which is positive where x is."""
    return hl.select(is_positive(hl, x), next_grad, hl.f32(0))


def _build_forward(hl: Any, cpu: Cpu, x: Any) -> Any:
    i, y = hl.Var("i"), hl.Func("y")
    y[i] = value(hl, x[i])
    return scheduled(hl, cpu, y, i, x.dim(0).extent())


def _build_backward(hl: Any, cpu: Cpu, next_grad: Any, x: Any) -> Any:
    i, dx = hl.Var("i"), hl.Func("dx")
    dx[i] = passed(hl, next_grad[i], x[i])
    return scheduled(hl, cpu, dx, i, x.dim(0).extent())


_forward = kernel("relu.forward", _build_forward, inputs=(ELEMENTS,), outputs=(ELEMENTS,))
_backward = kernel("relu.backward", _build_backward, inputs=(ELEMENTS, ELEMENTS), outputs=(ELEMENTS,))


def forward(x: P) -> P:
    """y, shaped like x."""
    y: P = empty(x.shape)
    _forward(x, y)
    record("relu.forward", "halide")
    return y


def backward(next_grad: P, x: AnyArray) -> P:
    """dx, shaped like x."""
    dx: P = empty(x.shape)
    _backward(next_grad, x, dx)
    record("relu.backward", "halide")
    return dx
