"""Adam in CUDA: one pass over weights, gradient and both means, where the reference makes a dozen."""

import math

from typednn.arrays import AnyArray
from typednn.engines.cuda import CudaKernel

_CODE = """
extern "C" __global__ void adam_step(
    REAL* __restrict__ weights, const REAL* __restrict__ grad, REAL* __restrict__ m, REAL* __restrict__ v,
    REAL mean_rate, REAL beta2, REAL square_rate, REAL root, REAL eps, REAL lr, REAL coupled, REAL shrink, int size
) {
    FOR_EACH(i, size) {
        REAL g = grad[i];
        if (coupled != 0) g += coupled * weights[i];  // 0 times an infinite weight would be NaN
        REAL way = g - m[i];
        REAL mean = mean_rate < REAL(0.5) ? m[i] + mean_rate * way : g - (1 - mean_rate) * way;
        REAL square = v[i] * beta2 + square_rate * g * g;
        weights[i] = weights[i] * shrink - lr * mean / (sqrt(square) / root + eps);
        m[i] = mean;
        v[i] = square;
    }
}
"""
_step = CudaKernel("adam_step", _CODE)


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
    rates = (1 - beta1, beta2, 1 - beta2, math.sqrt(1 - beta2**step), eps, lr / (1 - beta1**step), coupled, shrink)
    _step.each(weights.size, weights, grad, m, v, *map(float, rates))
