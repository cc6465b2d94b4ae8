"""SGD: a step against the gradient, with momentum if wanted; exactly PyTorch's rule.

velocity ← grad on the first step, then momentum·velocity + (1 - dampening)·grad
direction = grad without momentum, velocity with it, grad + momentum·velocity with Nesterov's
weights ← weights - lr·direction

All arrays share one shape. Weights and velocity are written in place, the gradient is not. Weight decay is the caller's.
Source: "Deep Learning Implementation With Rust", eq 44; torch.optim.SGD; Sutskever et al., "On the importance of
initialization and momentum in deep learning", 2013.
"""

from __future__ import annotations

from typednn.arrays import AnyArray
from typednn.errors import ArgumentError, explain


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
) -> None:
    """Move ``weights`` once; ``velocity`` may be None where momentum is 0."""
    if momentum == 0:
        weights -= lr * grad
        return
    if velocity is None:
        raise ArgumentError(explain("sgd", f"momentum {momentum} keeps a velocity", "None", "hand in an array like the weights"))
    if first:
        velocity[...] = grad
    else:
        velocity *= momentum
        velocity += (1 - dampening) * grad
    weights -= lr * (grad + momentum * velocity if nesterov else velocity)
