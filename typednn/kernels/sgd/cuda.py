"""SGD in CUDA: one pass over weights, gradient and velocity."""

from __future__ import annotations

from typednn.arrays import AnyArray
from typednn.engines import record
from typednn.engines.cuda import CudaKernel, on_gpu

_CODE = """
extern "C" __global__ void sgd_plain_step(
    REAL* __restrict__ weights, const REAL* __restrict__ grad, REAL lr, REAL coupled, REAL shrink, int size
) {
    FOR_EACH(i, size) {
        REAL g = grad[i];
        if (coupled != 0) g += coupled * weights[i];  // 0 times an infinite weight would be NaN
        weights[i] = weights[i] * shrink - lr * g;
    }
}

extern "C" __global__ void sgd_momentum_step(
    REAL* __restrict__ weights, const REAL* __restrict__ grad, REAL* __restrict__ velocity,
    REAL lr, REAL momentum, REAL taken, REAL coupled, REAL shrink, int nesterov, int first, int size
) {
    FOR_EACH(i, size) {
        REAL g = grad[i];
        if (coupled != 0) g += coupled * weights[i];
        REAL direction = first ? g : momentum * velocity[i] + taken * g;
        velocity[i] = direction;
        if (nesterov) direction = g + momentum * direction;
        weights[i] = weights[i] * shrink - lr * direction;
    }
}
"""
_plain = CudaKernel("sgd_plain_step", _CODE)
_momentum = CudaKernel("sgd_momentum_step", _CODE)


def covers(weights: AnyArray, *others: AnyArray | None) -> bool:
    """Whether the kernel may run on the weights, the gradient and, where there is one, the velocity."""
    return on_gpu(weights, *others) and all(other is not None and other.shape == weights.shape for other in others)


def plain_step(weights: AnyArray, grad: AnyArray, lr: float, coupled: float, shrink: float) -> None:
    """Without momentum; writes the weights in place."""
    _plain.each(weights.size, weights, grad, float(lr), float(coupled), float(shrink))
    record("sgd.step", "cuda")


def momentum_step(
    weights: AnyArray,
    grad: AnyArray,
    velocity: AnyArray | None,
    lr: float,
    momentum: float,
    dampening: float,
    nesterov: bool,
    first: bool,
    coupled: float,
    shrink: float,
) -> None:
    """Writes weights and velocity in place."""
    rates = (lr, momentum, 1 - dampening, coupled, shrink)
    _momentum.each(weights.size, weights, grad, velocity, *map(float, rates), int(nesterov), int(first))
    record("sgd.step", "cuda")
