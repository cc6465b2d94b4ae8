"""Adam: a step scaled by the running mean and spread of the gradient."""

from __future__ import annotations

from typednn.arrays import AnyArray
from typednn.engines import fast, record
from typednn.kernels.adam import cpu, cuda, reference

__all__ = ["step"]


def step(
    weights: AnyArray,
    grad: AnyArray,
    m: AnyArray,
    v: AnyArray,
    *,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    step: int,
    coupled: float = 0.0,
    shrink: float = 1.0,
) -> None:
    """Move ``weights`` for the ``step``-th time, counted from 1; ``coupled`` and ``shrink`` are weight decay."""
    if fast(weights, grad, m, v) and weights.flags.aligned:
        cpu.step(weights, grad, m, v, lr, beta1, beta2, eps, step, coupled, shrink)
        return
    if cuda.covers(weights, grad, m, v):
        cuda.step(weights, grad, m, v, lr, beta1, beta2, eps, step, coupled, shrink)
        return
    record("adam.step", "reference")
    reference.step(weights, grad, m, v, lr=lr, beta1=beta1, beta2=beta2, eps=eps, step=step, coupled=coupled, shrink=shrink)
