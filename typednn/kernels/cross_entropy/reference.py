"""Cross entropy of probabilities, before its reduction.

loss = -target·log(max(prediction, eps))        gradient = -scale·target / max(prediction, eps)

Any shape, kept. ``scale`` is the reduction's 1/alpha. Below eps the loss is flat, yet the gradient stays -target/eps,
as in the paper, so that a wrong certainty can be unlearnt.
Source: "Deep Learning Implementation With Rust", eqs 42-43 (eq 43 with the target that it leaves out).
"""

from __future__ import annotations

from typing import TypeVar

from typednn.arrays import AnyArray, namespace

P = TypeVar("P", bound=AnyArray)


def elementwise(prediction: P, target: P, eps: float) -> P:
    """The loss of each element."""
    xp = namespace(prediction)
    loss: P = -xp.log(xp.maximum(prediction, eps)) * target
    return loss


def gradient(prediction: P, target: P, eps: float, scale: float) -> P:
    """The scaled loss by each prediction."""
    grad: P = -target / namespace(prediction).maximum(prediction, eps) * scale
    return grad
