"""Adam for NumPy's arrays: one pass over weights, gradient and both means, weight decay included."""

import math
from functools import cache
from typing import Any

from typednn.arrays import AnyArray
from typednn.engines import Array, Cpu, Kernel, Scalar, kernel
from typednn.engines.dispatch import FLOAT32
from typednn.kernels.in_place import in_place
from typednn.kernels.lerp import lerp_of_expressions


def step(
    weights: AnyArray,
    grad: AnyArray,
    m: AnyArray,
    v: AnyArray,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    step: int,
    coupled: float = 0.0,
    shrink: float = 1.0,
) -> None:
    """Move ``weights`` for the ``step``-th time, counted from 1; writes weights, m and v in place."""
    _step(coupled != 0, shrink != 1, weights.dtype).call(
        weights,
        grad,
        m,
        v,
        1 - beta1,
        beta2,
        1 - beta2,
        1 / math.sqrt(1 - beta2**step),
        eps,
        lr / (1 - beta1**step),
        coupled,
        shrink,
    )


@cache
def _step(couples: bool, shrinks: bool, dtype: Any = FLOAT32) -> Kernel:
    array = Array("size", flat=True)
    return kernel(
        "adam.step",
        build_step,
        inputs=(array, array, array, array, *[Scalar()] * 8),
        outputs=(array, array, array),
        written=(0, 2, 3),
        options={"couples": couples, "shrinks": shrinks},
        dtype=dtype,
    )


def build_step(
    hl: Any,
    cpu: Cpu,
    weights: Any,
    grad: Any,
    m: Any,
    v: Any,
    mean_rate: Any,
    beta2: Any,
    square_rate: Any,
    inverse_root: Any,
    eps: Any,
    lr: Any,
    coupled: Any,
    shrink: Any,
    couples: bool,
    shrinks: bool,
) -> Any:
    """(weights, m, v) after a step: each number depends on its own place alone."""
    i = hl.Var("i")
    w = weights[i]
    g = grad[i] + coupled * w if couples else grad[i]
    if shrinks:
        w = w * shrink
    mean = lerp_of_expressions(hl.select, m[i], g, mean_rate)
    square = v[i] * beta2 + square_rate * g * g
    after = w - lr * mean / (hl.sqrt(square) * inverse_root + eps)
    return in_place(hl, cpu, i, [after, mean, square], weights.dim(0).extent())
