"""Cross entropy of logits, before its reduction: softmax and cross entropy in one, exact for any logits.

loss = -target·log_softmax(logits)          gradient = scale·(softmax(logits)·Σ_j target_j - target)

logits, target, loss (batch, classes). ``scale`` is the reduction's 1/alpha; targets may be soft. log_softmax(x) = z - log Σ exp z with
z = x - max x. One exponential per element.
Source: "Deep Learning Implementation With Rust", eqs 34 and 42, chained.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from typednn.arrays import AnyArray, Array2, IntArray1, namespace
from typednn.kernels.softmax.reference import forward as softmax

if TYPE_CHECKING:
    from typednn.arrays import Floating


def elementwise(logits: Array2, target: Array2) -> Array2:
    """The loss of each sample and class; 0 where the target is 0, even for a logit of -inf."""
    xp = namespace(logits)
    z = logits - logits.max(axis=1, keepdims=True)
    log_softmax = z - xp.log(xp.exp(z).sum(axis=1, keepdims=True))
    loss: Array2 = xp.where(target == 0, 0, log_softmax) * -target
    return loss


def gradient(logits: Array2, target: Array2, scale: float) -> Array2:
    """The scaled loss by each logit."""
    grad: Array2 = (softmax(logits) * target.sum(axis=1, keepdims=True) - target) * scale
    return grad


def one_hot(labels: IntArray1, classes: int, dtype: Floating, like: AnyArray) -> Array2:
    """(batch, classes) with 1 at each label, beside ``like`` on its device, where ``labels`` must be as well.

    A label outside 0 .. classes - 1 gives a row of zeros: looking would make a GPU wait, so whoever reads labels looks.
    """
    rows: Array2 = (labels[:, None] == namespace(like).arange(classes)).astype(dtype)
    return rows
