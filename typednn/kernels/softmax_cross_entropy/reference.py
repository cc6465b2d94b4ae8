"""Cross entropy of logits, before its reduction: softmax and cross entropy in one, exact for any logits.

loss = -target·log_softmax(logits)          gradient = scale·(softmax(logits)·Σ_j target_j - target)

logits, target, loss (batch, classes). ``scale`` is the reduction's 1/alpha; targets may be soft. log_softmax(x) = z - log Σ exp z with
z = x - max x. One exponential per element.
Source: "Deep Learning Implementation With Rust", eqs 34 and 42, chained.
"""

from typing import Any

import numpy as np

from typednn.arrays import AnyArray, Array2, IntArray1, namespace
from typednn.kernels.softmax.reference import forward as softmax


def forward(logits: Array2, target: Array2 | IntArray1) -> Array2:
    """The loss of each sample and class; 0 where the target is 0, even for a logit of -inf."""
    xp, targets = namespace(logits), probabilities(logits, target)
    z = logits - logits.max(axis=1, keepdims=True)
    log_softmax = z - xp.log(xp.exp(z).sum(axis=1, keepdims=True))
    loss: Array2 = xp.where(targets == 0, 0, log_softmax) * -targets
    return loss


def backward(logits: Array2, target: Array2 | IntArray1, scale: float) -> Array2:
    """The scaled loss by each logit."""
    targets = probabilities(logits, target)
    grad: Array2 = (softmax(logits) * targets.sum(axis=1, keepdims=True) - targets) * scale
    return grad


def forward_and_backward(logits: Array2, target: Array2 | IntArray1, scale: float) -> tuple[Array2, Array2]:
    """Both, for engines that compute them in one pass."""
    return forward(logits, target), backward(logits, target, scale)


def probabilities(logits: Array2, target: Any) -> Array2:
    """The target as a probability for each class."""
    targets: Array2 = one_hot(target, logits.shape[1], logits.dtype, logits) if len(target.shape) == 1 else target
    return targets


def one_hot(labels: IntArray1, classes: int, dtype: np.dtype[np.floating[Any]], like: AnyArray) -> Array2:
    """(batch, classes) with 1 at each label, on the device of ``like``, where ``labels`` must be as well.

    A label outside 0 .. classes - 1 gives a row of zeros. It is not refused here, as a check would make
    a GPU wait; the loss refuses it where it can.
    """
    rows: Array2 = (labels[:, None] == namespace(like).arange(classes)).astype(dtype)
    return rows
