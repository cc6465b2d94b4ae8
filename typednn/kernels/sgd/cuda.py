"""SGD in CUDA: one pass over weights, gradient and velocity."""

from typednn.arrays import AnyArray
from typednn.engines.cuda import CudaKernel

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


def step(
    weights: AnyArray,
    grad: AnyArray,
    velocity: AnyArray | None,
    lr: float,
    momentum: float,
    dampening: float,
    nesterov: bool,
    first: bool,
    coupled: float = 0.0,
    shrink: float = 1.0,
) -> None:
    """Write ``weights`` in place, and ``velocity`` where there is momentum."""
    if momentum == 0:
        _plain.each(weights.size, weights, grad, float(lr), float(coupled), float(shrink))
        return
    rates = (lr, momentum, 1 - dampening, coupled, shrink)
    _momentum.each(weights.size, weights, grad, velocity, *map(float, rates), int(nesterov), int(first))
