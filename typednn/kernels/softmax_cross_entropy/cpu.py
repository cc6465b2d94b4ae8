"""Cross entropy of logits in Halide: each row is read once, for the loss and its gradient.

The formulas are those of reference.py. A label stands for a row of probabilities that is never written. Numbers whose
exponential is below float32's smallest normal one, 1.2e-38, count as 0 there. Weights, smoothing and a class that is
ignored have a kernel of their own.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from typednn.arrays import Array1, Array2, IntArray1
from typednn.engines import Array, Cpu, Kernel, Scalar, empty, hl, kernel, nan, specialised
from typednn.engines.dispatch import FLOAT32
from typednn.kernels.class_targets import NONE
from typednn.kernels.softmax.cpu import LEAST_FEATURES, InRow, by_rows, exponentials, total
from typednn.kernels.totals import sum_of

PIECE = 1 << 19  # numbers of the rows that are computed at a time, where not all are kept

Planned: TypeAlias = tuple[Kernel, tuple[object, ...]]


def plan(
    logits: Array2,
    target: Array2 | IntArray1,
    weight: Array1 | None,
    smoothing: float,
    ignore_index: int,
    *_: object,
) -> Planned | None:
    """The kernel and its arguments but the arrays written, where the target is a label for each row, or a row of
    probabilities.
    """
    classes, labelled = logits.shape[1], len(target.shape) == 1
    if target.shape != logits.shape[: len(target.shape)] or target.dtype != (np.int64 if labelled else logits.dtype):
        return None
    ignored = ignore_index if labelled and 0 <= ignore_index < classes else NONE
    if weight is None and not smoothing and ignored == NONE:
        made = _kernel[classes, labelled, logits.dtype]
        return None if made is None else (made, (logits, target))
    if weight is None:
        weight = np.ones(classes, logits.dtype)
    made = _kernel[classes, labelled, logits.dtype, True, ignored] if weight.shape == (classes,) else None
    return None if made is None else (made, (logits, target, weight, smoothing))


def plan_with_scale(
    logits: Array2,
    target: Array2 | IntArray1,
    scale: float,
    weight: Array1 | None,
    smoothing: float,
    ignore_index: int,
    *_: object,
) -> Planned | None:
    """`plan` of the ops that scale the derivative."""
    return plan(logits, target, weight, smoothing, ignore_index)


def _probability(target: hl.ImageParam, classes: int, labelled: bool, real: hl.Type) -> InRow:
    """The target of class c and sample b; 0 for every class where the label is out of range."""
    if not labelled:
        return lambda c, b: target[c, b]

    # Any: the comparison of an int with an Expr is an Expr, and checkers take it for a bool.
    def at(c: Any, b: hl.Expr) -> hl.Expr:
        return hl.select(c == _label(target, b, classes), hl.cast(real, 1), 0)

    return at


def _label(target: hl.ImageParam, b: hl.Expr, classes: int) -> hl.Expr:
    """The label of sample b, as 32 bits: -1 or ``classes`` where it is out of range."""
    return hl.cast(hl.Int(32), hl.clamp(target[b], hl.i64(-1), hl.i64(classes)))


def _weighted(
    plain: InRow,
    target: hl.ImageParam,
    settings: tuple[hl.ImageParam, hl.Param],
    classes: int,
    labelled: bool,
    ignored: int,
) -> InRow:
    """``plain`` smoothed and weighted, and 0 where the label is ``ignored``."""
    weight, smoothing = settings

    def at(c: hl.Expr | int, b: hl.Expr) -> hl.Expr:
        smoothed = (plain(c, b) * (1 - smoothing) + smoothing / classes) * weight[c]
        if not labelled:
            return smoothed
        label = _label(target, b, classes)
        return hl.select((label >= 0) & (label < classes) & (label != ignored), smoothed, 0)

    return at


def _build(
    cpu: Cpu,
    logits: hl.ImageParam,
    target: hl.ImageParam,
    *numbers: Any,  # weights, an array, come before numbers, where there are some
    classes: int,
    labelled: bool,
    weighted: bool = False,
    ignored: int = NONE,
) -> hl.Func:
    scale = numbers[-1]
    c, b, both, log = hl.Var("c"), hl.Var("b"), hl.Func("both"), hl.Func("log")
    exps, row_sum, top = exponentials(cpu, logits, classes, both, c, b)
    # Between 1 and the number of classes, or NaN, which Halide's logarithm doesn't handle.
    log[b] = hl.select(nan.is_nan(row_sum[b]), row_sum[b], hl.log(row_sum[b]))
    log.compute_at(both, b)
    # Strictly in this order: top + log loses the logarithm where logits are large.
    log_softmax = hl.strict_float(logits[c, b] - top[b] - log[b])
    probability = _probability(target, classes, labelled, logits.type())
    if weighted:
        probability = _weighted(probability, target, (numbers[0], numbers[1]), classes, labelled, ignored)
    target_sum = total(cpu, "target_sum", probability, classes, both, b)
    loss = hl.select(probability(c, b) == 0, 0, log_softmax) * -probability(c, b)
    # a row that does not count may hold any number
    share = hl.select(target_sum[b] == 0, 0, exps[c, b] / row_sum[b] * target_sum[b])
    both[c, b] = hl.Tuple([loss, (share - probability(c, b)) * scale])
    return by_rows(cpu, both, c, b, logits.dim(1).extent(), classes)


@specialised("softmax_cross_entropy", "numbers of classes")
def _kernel(
    classes: int, labelled: bool, dtype: np.dtype[Any] = FLOAT32, weighted: bool = False, ignored: int = NONE
) -> Kernel | None:
    if classes < LEAST_FEATURES:
        return None
    rows, options = Array("batch", classes), {"classes": classes, "labelled": labelled}
    if weighted:
        options |= {"weighted": True, "ignored": ignored}
    settings = (Array(classes), Scalar()) if weighted else ()
    inputs = rows, Array("batch", dtype="int64") if labelled else rows, *settings, Scalar()
    return kernel("softmax_cross_entropy", _build, inputs=inputs, outputs=(rows, rows), options=options, dtype=dtype)


def forward_and_backward(
    planned: Planned,
    logits: Array2,
    target: Array2 | IntArray1,
    scale: float,
    weight: Array1 | None,
    smoothing: float,
    ignore_index: int,
    summed: bool,
) -> tuple[Any, Array2]:
    """The loss of each sample and class, 0 where the target is 0, even for a logit of -inf, or their sum; and its
    scaled derivative.
    """
    loss, grad = _room(logits, summed), _room(logits, False)
    total = _fill(planned, logits, target, scale, loss, grad, summed)
    return total if summed else loss, grad


def forward(
    planned: Planned,
    logits: Array2,
    target: Array2 | IntArray1,
    weight: Array1 | None,
    smoothing: float,
    ignore_index: int,
    summed: bool,
) -> Any:
    """The loss alone, by the same kernel: two would take twice as long to compile, and may round differently."""
    loss, grad = _room(logits, summed), _room(logits, True)
    total = _fill(planned, logits, target, 1.0, loss, grad, summed)
    return total if summed else loss


def backward(planned: Planned, logits: Array2, target: Array2 | IntArray1, scale: float, *settings: object) -> Array2:
    """The derivative alone."""
    loss, grad = _room(logits, True), _room(logits, False)
    _fill(planned, logits, target, scale, loss, grad, False)
    return grad


def _room(logits: Array2, some: bool) -> Array2:
    """For numbers of all rows, or of ``some`` at a time, so that what is not wanted takes little memory."""
    rows, classes = logits.shape
    room: Array2 = empty((min(rows, max(1, PIECE // classes)) if some else rows, classes), logits.dtype)
    return room


def _fill(
    planned: Planned,
    logits: Array2,
    target: Array2 | IntArray1,
    scale: float,
    loss: Array2,
    grad: Array2,
    summed: bool,
) -> Any:
    """Fill ``loss`` and ``grad``, which is done again for the next rows where one has no room for all; the sum of the
    losses, where it is asked for.
    """
    made, (_, _, *numbers) = planned
    rows, piece = len(logits), min(len(loss), len(grad))
    if piece == rows:
        made.call(logits, target, *numbers, scale, loss, grad)
        return sum_of(loss) if summed else None
    sums: list[Any] = []
    for start in range(0, rows, piece):
        some, first = slice(start, start + piece), slice(min(piece, rows - start))
        losses, grads = (whole[some if len(whole) == rows else first] for whole in (loss, grad))
        sums.append(_fill(planned, logits[some], target[some], scale, losses, grads, summed))
    return np.array(sum(sums)) if summed else None
