"""PReLU in Halide: one pass over memory forward. Backward makes two, one for dx and one for dslope.

dslope is a total (`typednn.kernels.totals`). The other results equal LeakyReLU's bit for bit.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

from typednn.arrays import AnyArray, Array1
from typednn.engines import Array, Cpu, empty, hl, kernel
from typednn.engines.dispatch import FLOATS
from typednn.kernels.elementwise import ELEMENTS, scheduled
from typednn.kernels.pointwise import leaky_relu
from typednn.kernels.totals import Total

P = TypeVar("P", bound=AnyArray)

_value, _vjp = (formula.on_numbers for formula in leaky_relu.formulas)


def _slope_term(xp: Any, next_grad: Any, x: Any) -> Any:
    return xp.where(x > 0, 0, next_grad * x)


_dslope: Final = Total("prelu.dslope", _slope_term, 2, same=True)


def _build_forward(cpu: Cpu, x: hl.ImageParam, slope: hl.ImageParam) -> hl.Func:
    i, y = hl.Var("i"), hl.Func("y")
    y[i] = _value(x[i], slope[0])
    return scheduled(cpu, y, i, x.dim(0).extent())


def _build_backward(cpu: Cpu, next_grad: hl.ImageParam, x: hl.ImageParam, slope: hl.ImageParam) -> hl.Func:
    i, dx = hl.Var("i"), hl.Func("dx")
    dx[i] = _vjp(next_grad[i], x[i], slope[0])
    return scheduled(cpu, dx, i, x.dim(0).extent())


_SLOPE = Array(1)
_forward = {
    dtype: kernel("prelu.forward", _build_forward, inputs=(ELEMENTS, _SLOPE), outputs=(ELEMENTS,), dtype=dtype)
    for dtype in FLOATS
}
_backward = {
    dtype: kernel(
        "prelu.backward", _build_backward, inputs=(ELEMENTS, ELEMENTS, _SLOPE), outputs=(ELEMENTS,), dtype=dtype
    )
    for dtype in FLOATS
}


def forward(x: P, slope: Array1) -> P:
    """y, shaped like x."""
    y: P = empty(x.shape, x.dtype)
    _forward[x.dtype](x, slope, y)
    return y


def backward(next_grad: P, x: AnyArray, slope: Array1) -> tuple[P, Array1]:
    """(dx, dslope), shaped like x and slope."""
    dx: P = empty(x.shape, x.dtype)
    _backward[x.dtype](next_grad, x, slope, dx)
    return dx, _dslope.run(next_grad, x)
