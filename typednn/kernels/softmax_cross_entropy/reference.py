"""Cross entropy of logits, before its reduction: softmax and cross entropy in one, exact for any logits.

loss = -q·log_softmax(logits)          gradient = scale·(softmax(logits)·Σ_j q_j - q)

logits, q, loss (batch, classes); q is the target as probabilities, weighted and smoothed
(`typednn.kernels.class_targets`). ``scale`` is the reduction's 1/alpha, a number or an array of rank 0. log_softmax(x)
= z - log Σ exp z with z = x - max x. One exponential per element. ``summed`` asks for Σ loss alone, a float64 of rank
0: of many classes, nearly all losses are 0.
Source: "Deep Learning Implementation With Rust", eqs 34 and 42, chained.
"""

from typing import Any

import numpy as np
from jaxtyping import Float, Integer

from typednn.arrays import Array1, Array2, IntArray1, namespace
from typednn.kernels.class_targets import NONE, probabilities
from typednn.kernels.softmax.reference import forward as softmax


def forward(
    logits: Float[Array2, "batch classes"],
    target: Float[Array2, "batch classes"] | Integer[IntArray1, " batch"],
    weight: Float[Array1, " classes"] | None = None,
    smoothing: float = 0.0,
    ignore_index: int = NONE,
    summed: bool = False,
) -> Any:
    """The loss of each sample and class, or their sum; 0 where q is 0, even for a logit of -inf."""
    xp, q = namespace(logits), probabilities(logits, target, weight, smoothing, ignore_index)
    z = logits - logits.max(axis=1, keepdims=True)
    log_softmax = z - xp.log(xp.exp(z).sum(axis=1, keepdims=True))
    loss = xp.where(q == 0, 0, log_softmax) * -q
    return xp.asarray(loss.sum(dtype=np.float64)) if summed else loss


def backward(
    logits: Float[Array2, "batch classes"],
    target: Float[Array2, "batch classes"] | Integer[IntArray1, " batch"],
    scale: Any,
    weight: Float[Array1, " classes"] | None = None,
    smoothing: float = 0.0,
    ignore_index: int = NONE,
) -> Float[Array2, "batch classes"]:
    """The scaled loss by each logit; 0 in a row whose q is all 0, whatever its logits are."""
    q = probabilities(logits, target, weight, smoothing, ignore_index)
    total = q.sum(axis=1, keepdims=True)
    grad: Array2 = (namespace(logits).where(total == 0, 0, softmax(logits) * total) - q) * scale
    return grad


def forward_and_backward(
    logits: Float[Array2, "batch classes"],
    target: Float[Array2, "batch classes"] | Integer[IntArray1, " batch"],
    scale: Any,
    weight: Float[Array1, " classes"] | None = None,
    smoothing: float = 0.0,
    ignore_index: int = NONE,
    summed: bool = False,
) -> tuple[Any, Float[Array2, "batch classes"]]:
    """Both, for engines that compute them in one pass."""
    settings = weight, smoothing, ignore_index
    return forward(logits, target, *settings, summed), backward(logits, target, scale, *settings)
