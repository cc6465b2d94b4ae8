"""Cross entropy of logits in Halide: each row is read once, for the loss and its gradient.

The formulas are those of reference.py. A label stands for a row of probabilities that is never written. Numbers whose exponential is
below float32's smallest normal one, 1.2e-38, count as 0 there.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from typednn.arrays import Array2, IntArray1
from typednn.engines import Array, Cpu, Kernel, Scalar, empty, kernel, nan, specialised
from typednn.engines.dispatch import FLOAT32
from typednn.kernels.softmax.cpu import LEAST_FEATURES, by_rows, exponentials, total


def plan(logits: Array2, target: Array2 | IntArray1, *_: object) -> Kernel | None:
    """The kernel, where the target is a label for each row, or a row of probabilities."""
    labelled = len(target.shape) == 1
    if target.shape != logits.shape[: len(target.shape)] or target.dtype != (np.int64 if labelled else logits.dtype):
        return None
    return _kernel[logits.shape[1], labelled, logits.dtype]


def _probability(hl: Any, target: Any, classes: int, labelled: bool, real: Any) -> Callable[[Any, Any], Any]:
    """The target of class c and sample b; 0 for every class where the label is out of range."""
    if not labelled:
        return lambda c, b: target[c, b]

    def at(c: Any, b: Any) -> Any:
        label = hl.cast(hl.Int(32), hl.clamp(target[b], hl.i64(-1), hl.i64(classes)))
        return hl.select(c == label, hl.cast(real, 1), 0)

    return at


def _build(hl: Any, cpu: Cpu, logits: Any, target: Any, scale: Any, classes: int, labelled: bool) -> Any:
    c, b, both, log = hl.Var("c"), hl.Var("b"), hl.Func("both"), hl.Func("log")
    exps, row_sum, top = exponentials(hl, cpu, logits, classes, both, c, b)
    # Between 1 and the number of classes, or NaN, which Halide's logarithm doesn't handle.
    log[b] = hl.select(nan.is_nan(hl, row_sum[b]), row_sum[b], hl.log(row_sum[b]))
    log.compute_at(both, b)
    # Strictly in this order: top + log loses the logarithm where logits are large.
    log_softmax = hl.strict_float(logits[c, b] - top[b] - log[b])
    probability = _probability(hl, target, classes, labelled, logits.type())
    target_sum = total(hl, cpu, "target_sum", probability, classes, both, b)
    loss = hl.select(probability(c, b) == 0, 0, log_softmax) * -probability(c, b)
    both[c, b] = hl.Tuple([loss, (exps[c, b] / row_sum[b] * target_sum[b] - probability(c, b)) * scale])
    return by_rows(hl, cpu, both, c, b, logits.dim(1).extent(), classes)


@specialised("softmax_cross_entropy", "numbers of classes")
def _kernel(classes: int, labelled: bool, dtype: Any = FLOAT32) -> Kernel | None:
    if classes < LEAST_FEATURES:
        return None
    rows, options = Array("batch", classes), {"classes": classes, "labelled": labelled}
    inputs = rows, Array("batch", dtype="int64") if labelled else rows, Scalar()
    return kernel("softmax_cross_entropy", _build, inputs=inputs, outputs=(rows, rows), options=options, dtype=dtype)


def forward_and_backward(planned: Kernel, logits: Array2, target: Array2 | IntArray1, scale: float) -> tuple[Array2, Array2]:
    """The loss of each sample and class, 0 where the target is 0, even for a logit of -inf; and the scaled loss by each logit."""
    loss: Array2 = empty(logits.shape, logits.dtype)
    grad: Array2 = empty(logits.shape, logits.dtype)
    planned.call(logits, target, scale, loss, grad)
    return loss, grad


def forward(planned: Kernel, logits: Array2, target: Array2 | IntArray1) -> Array2:
    """The loss alone, by the same kernel: two would take twice as long to compile, and may round differently."""
    return forward_and_backward(planned, logits, target, 1.0)[0]


def backward(planned: Kernel, logits: Array2, target: Array2 | IntArray1, scale: float) -> Array2:
    """The derivative alone."""
    return forward_and_backward(planned, logits, target, scale)[1]
