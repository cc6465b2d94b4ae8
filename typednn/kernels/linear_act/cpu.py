"""Linear and ReLU on NumPy's float32 arrays: linear's own kernels or BLAS, and ReLU in place before anybody else sees y.

Backward makes dz in one pass. Where dx is not wanted, dweight is one matrix product.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from typednn.engines import Cpu, Kernel, empty, kernel, nan, record, sgemm
from typednn.kernels import linear
from typednn.kernels.elementwise import ELEMENTS, is_positive, scheduled


def forward(x: Any, weight: Any, bias: Any) -> Any:
    """y (batch, out_features)."""
    y = linear.forward(x, weight, bias)
    _relu()(y, y)
    record("linear_act.forward", "halide")
    return y


def backward(next_grad: Any, x: Any, y: Any, weight: Any, wants_input: bool) -> tuple[Any, Any, Any]:
    """(dx, dweight, dbias); dx is None unless wanted."""
    dz = empty(y.shape)
    _masked()(next_grad, y, dz)
    if wants_input:
        record("linear_act.backward", "halide")
        return linear.backward(dz, x, weight)
    dweight, dbias = empty(weight.shape), empty(weight.shape[:1])
    sgemm(dz, x, dweight, transpose_a=True)
    np.add.reduce(dz, axis=0, out=dbias)
    record("linear_act.backward", "blas")
    return None, dweight, dbias


@cache
def _relu() -> Kernel:
    return kernel("linear_act.relu", _build_relu, inputs=(ELEMENTS,), outputs=(ELEMENTS,))


@cache
def _masked() -> Kernel:
    return kernel("linear_act.masked", _build_masked, inputs=(ELEMENTS, ELEMENTS), outputs=(ELEMENTS,))


def _build_relu(hl: Any, cpu: Cpu, z: Any) -> Any:
    i, y = hl.Var("i"), hl.Func("y")
    y[i] = nan.relu(hl, z[i])
    return scheduled(hl, cpu, y, i, z.dim(0).extent())


def _build_masked(hl: Any, cpu: Cpu, next_grad: Any, y: Any) -> Any:
    i, dz = hl.Var("i"), hl.Func("dz")
    dz[i] = hl.select(is_positive(hl, y[i]), next_grad[i], hl.f32(0))
    return scheduled(hl, cpu, dz, i, y.dim(0).extent())
