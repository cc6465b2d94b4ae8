"""softmax and log_softmax along an axis, of any scores: the largest is subtracted, so that none overflows.

softmax(x)_i = exp(x_i - max x) / Σ_j exp(x_j - max x)       log_softmax(x)_i = x_i - max x - log Σ_j exp(x_j - max x)

Five operations each, and six. Neither depends on what is subtracted, so no tape records the maximum and it has no
derivative.
"""

from __future__ import annotations

from typing import Any

from typednn.graph.graph import GRAPH
from typednn.graph.nodes import reduce, unary
from typednn.graph.operations import Reduce, Unary
from typednn.graph.tensor import AnyTensor, Tensor


def softmax(x: Tensor[Any, Any], axis: int = -1) -> AnyTensor:
    """Shares of 1 along ``axis``, shaped like ``x``."""
    powers = unary(Unary.EXP, x - largest(x, axis))
    return powers / powers.sum(axis, keepdims=True)


def log_softmax(x: Tensor[Any, Any], axis: int = -1) -> AnyTensor:
    """The logarithm of `softmax`, which loses no digits to shares near 0."""
    below = x - largest(x, axis)
    return below - log_sum_exp(below, axis)


def log_sum_exp(x: AnyTensor, axis: int) -> AnyTensor:
    """log Σ exp x of numbers of at most 0, the axis kept."""
    return unary(Unary.LOG, unary(Unary.EXP, x).sum(axis, keepdims=True))


def largest(x: AnyTensor, axis: int) -> AnyTensor:
    """The maximum along ``axis``, the axis kept, as a constant for all tapes."""
    return unrecorded(reduce(Reduce.MAX, x, axis, keepdims=True), x)


def unrecorded(made: AnyTensor, source: AnyTensor) -> AnyTensor:
    """``made``, which was just computed from ``source``: tapes take all that is new as constants."""
    with GRAPH.lock():
        if GRAPH.recorded is not None:
            GRAPH.recorded.difference_update(set(GRAPH.ancestors([made.id], stop={source.id})) - {source.id})
    return made
