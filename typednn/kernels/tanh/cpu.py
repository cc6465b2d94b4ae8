"""Tanh in Halide: one pass over memory each way.

Up to |x| = 0.625 a polynomial, which keeps the digits of small x; beyond it 1 - 2/(exp(2|x|) + 1), with the sign of x.
Source: the polynomial is tanhf's of S. Moshier's Cephes library; both parts are exact to 2 units in the last place.
"""

from __future__ import annotations

from typing import Any, TypeVar

from typednn.arrays import AnyArray
from typednn.engines import Cpu, empty, kernel, nan, record
from typednn.kernels.elementwise import DEAR, ELEMENTS, scheduled, times_slope

P = TypeVar("P", bound=AnyArray)

_POLYNOMIAL = (-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1)


def value(hl: Any, x: Any) -> Any:
    """y at ``x``."""
    size = hl.abs(x)
    square = x * x
    series = hl.f32(_POLYNOMIAL[0])
    for factor in _POLYNOMIAL[1:]:
        series = series * square + hl.f32(factor)
    near = x + x * square * series
    # From 10 on it is 1 in float32.
    far = hl.f32(1) - hl.f32(2) / (hl.exp(hl.f32(2) * hl.min(size, hl.f32(10))) + hl.f32(1))
    signed = hl.select(x < 0, -far, far)
    return hl.select(nan.is_nan(hl, x), x, hl.select(size < hl.f32(0.625), near, signed))


def passed(hl: Any, next_grad: Any, y: Any) -> Any:
    """dx from ``next_grad`` and ``y``."""
    return times_slope(hl, next_grad, hl.f32(1) - y * y)


def _build_forward(hl: Any, cpu: Cpu, x: Any) -> Any:
    i, y = hl.Var("i"), hl.Func("y")
    y[i] = value(hl, x[i])
    return scheduled(hl, cpu, y, i, x.dim(0).extent(), DEAR)


def _build_backward(hl: Any, cpu: Cpu, next_grad: Any, y: Any) -> Any:
    i, dx = hl.Var("i"), hl.Func("dx")
    dx[i] = passed(hl, next_grad[i], y[i])
    return scheduled(hl, cpu, dx, i, y.dim(0).extent())


_forward = kernel("tanh.forward", _build_forward, inputs=(ELEMENTS,), outputs=(ELEMENTS,))
_backward = kernel("tanh.backward", _build_backward, inputs=(ELEMENTS, ELEMENTS), outputs=(ELEMENTS,))


def forward(x: P) -> P:
    """y, shaped like x."""
    y: P = empty(x.shape)
    _forward(x, y)
    record("tanh.forward", "halide")
    return y


def backward(next_grad: P, y: AnyArray) -> P:
    """dx, from what `forward` gave."""
    dx: P = empty(y.shape)
    _backward(next_grad, y, dx)
    record("tanh.backward", "halide")
    return dx
