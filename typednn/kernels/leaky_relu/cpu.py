"""LeakyReLU in Halide: one pass over memory each way. The formulas are those of reference.py, and so are the bits."""

from __future__ import annotations

from typing import Any, TypeVar

from typednn.arrays import AnyArray
from typednn.engines import Cpu, Scalar, empty, kernel, record
from typednn.kernels.elementwise import ELEMENTS, is_positive, scheduled

P = TypeVar("P", bound=AnyArray)


def value(hl: Any, x: Any, slope: Any) -> Any:
    """y at ``x``."""
    return hl.select(is_positive(hl, x), x, slope * x)


def passed(hl: Any, next_grad: Any, x: Any, slope: Any) -> Any:
    """dx from ``next_grad`` and ``x``, or y, which is positive where x is unless ``slope`` is negative."""
    return hl.select(is_positive(hl, x), next_grad, slope * next_grad)


def _build_forward(hl: Any, cpu: Cpu, x: Any, slope: Any) -> Any:
    i, y = hl.Var("i"), hl.Func("y")
    y[i] = value(hl, x[i], slope)
    return scheduled(hl, cpu, y, i, x.dim(0).extent())


def _build_backward(hl: Any, cpu: Cpu, next_grad: Any, x: Any, slope: Any) -> Any:
    i, dx = hl.Var("i"), hl.Func("dx")
    dx[i] = passed(hl, next_grad[i], x[i], slope)
    return scheduled(hl, cpu, dx, i, x.dim(0).extent())


_forward = kernel("leaky_relu.forward", _build_forward, inputs=(ELEMENTS, Scalar()), outputs=(ELEMENTS,))
_backward = kernel("leaky_relu.backward", _build_backward, inputs=(ELEMENTS, ELEMENTS, Scalar()), outputs=(ELEMENTS,))


def forward(x: P, negative_slope: float) -> P:
    """y, shaped like x."""
    y: P = empty(x.shape)
    _forward(x, negative_slope, y)
    record("leaky_relu.forward", "halide")
    return y


def backward(next_grad: P, x: AnyArray, negative_slope: float) -> P:
    """dx, shaped like x."""
    dx: P = empty(x.shape)
    _backward(next_grad, x, negative_slope, dx)
    record("leaky_relu.backward", "halide")
    return dx
