"""SGD: a step against the gradient, with momentum if wanted."""

from __future__ import annotations

from typednn.arrays import AnyArray
from typednn.engines import fast, record
from typednn.kernels.sgd import cpu, cuda, reference

__all__ = ["step"]


def step(
    weights: AnyArray,
    grad: AnyArray,
    velocity: AnyArray | None,
    *,
    lr: float,
    momentum: float,
    dampening: float,
    nesterov: bool,
    first: bool,
    coupled: float = 0.0,
    shrink: float = 1.0,
) -> None:
    """Move ``weights`` once; ``velocity`` may be None where momentum is 0. ``coupled`` and ``shrink`` are weight decay."""
    if momentum == 0:
        if fast(weights, grad) and weights.flags.aligned:
            cpu.plain_step(weights, grad, lr, coupled, shrink)
            return
        if cuda.covers(weights, grad):
            cuda.plain_step(weights, grad, lr, coupled, shrink)
            return
    elif fast(weights, grad, velocity) and weights.flags.aligned:
        cpu.momentum_step(weights, grad, velocity, lr, momentum, dampening, nesterov, first, coupled, shrink)
        return
    elif cuda.covers(weights, grad, velocity):
        cuda.momentum_step(weights, grad, velocity, lr, momentum, dampening, nesterov, first, coupled, shrink)
        return
    record("sgd.step", "reference")
    reference.step(
        weights,
        grad,
        velocity,
        lr=lr,
        momentum=momentum,
        dampening=dampening,
        nesterov=nesterov,
        first=first,
        coupled=coupled,
        shrink=shrink,
    )
