"""Labels as targets: their checks, and what a mean over them divides by.

==================  ========================================================================================
reduction           divides by
==================  ========================================================================================
"batchmean"         the labels that count; with weights, the sum of the weights of their classes
"mean"              the same times the number of classes
other reductions    as in `typednn.losses.reduction`: labels that are ignored have a loss of 0
==================  ========================================================================================

Each label counts, whatever axes there are beside the batch, but for those that are ``ignore_index``. Where none counts,
the mean is 0 and so is its gradient (PyTorch's are NaN). Rows of probabilities all count 1, also with weights, as in
torch.nn.CrossEntropyLoss.
"""

import math
from typing import Any

import numpy as np
from jaxtyping import Float

from typednn.arguments import integer
from typednn.arrays import AnyArray, Array1, Array2
from typednn.backends import to_numpy
from typednn.contracts.ranges import first_outside, within
from typednn.errors import ArgumentError, explain
from typednn.kernels.class_targets import NONE, count, counted
from typednn.kernels.reshape import reshape
from typednn.losses.reduction import Reduction, alpha, mean_divisor


def checked_ignore_index(where: str, ignore_index: int | None) -> int | None:
    """The label that does not count, which need not be a class; None if all count."""
    return None if ignore_index is None else integer(where, "ignore_index", ignore_index, least=-(2**63))


def index_of(ignore_index: int | None) -> int:
    """``ignore_index`` as ops take it."""
    return NONE if ignore_index is None else ignore_index


def as_rows(prediction: Float[AnyArray, "*batch classes"], target: Any) -> tuple[Float[Array2, "_ classes"], Any]:
    """Prediction (rows, classes) and target (rows) or (rows, classes), with all positions of all samples as rows."""
    axes = len(prediction.shape)
    if axes == 2:
        return prediction, target
    row = prediction.shape[-1:]
    return reshape(prediction, (-1, *row)), reshape(target, (-1,) if len(target.shape) < axes else (-1, *row))


def as_shaped(rows: Any, prediction: Any) -> Any:
    """``rows`` under the prediction's shape; a sum over all of them as it is."""
    return rows if len(prediction.shape) == 2 or not rows.shape else reshape(rows, prediction.shape)


def as_shown(loss: Any, **defaults: Any) -> str:
    """The loss as it is written, without arguments that have their default."""
    given = {name: getattr(loss, name) for name, default in defaults.items() if getattr(loss, name) != default}
    arguments = {"reduction": loss.reduction, **given}
    return f"{type(loss).__name__}({', '.join(f'{name}={value!r}' for name, value in arguments.items())})"


def check_labels(where: str, target: Any, classes: int, ignore_index: int | None) -> bool:
    """Refuse labels that are neither a class nor ``ignore_index``, with the place of the first. Whether some may be
    ignored.

    On a device this waits.
    """
    if target.dtype.kind not in "iu":
        return False
    if within(target, 0, classes - 1):
        return ignore_index is not None and 0 <= ignore_index < classes
    if got := first_outside(to_numpy(target), 0, classes - 1, ignore_index):
        raise ArgumentError(explain(where, f"labels are 0 to {classes - 1}", got), "target")
    return ignore_index is not None


def divisors(
    target: Any,
    weight: Float[Array1, " classes"] | None,
    ignore_index: int | None,
    may_ignore: bool,
    reduction: Reduction,
    prediction: Float[AnyArray, "*batch classes"],
) -> tuple[Any, Any]:
    """Alpha, and its reciprocal, which scales the gradient. On a device these are arrays of rank 0: reading them would
    wait.
    """
    shape = prediction.shape
    if reduction not in ("mean", "batchmean"):
        whole = alpha(shape, reduction)
        return whole, 1.0 / whole
    each, labelled = shape[-1] if reduction == "mean" else 1, len(target.shape) < len(shape)
    if labelled and (may_ignore or weight is not None):
        host = type(target) is np.ndarray
        dtype = np.dtype(np.float64) if host else prediction.dtype
        divisor, scale = counted(reshape(target, (-1,)), weight, index_of(ignore_index), each, dtype)
        return (float(divisor), float(scale)) if host else (divisor, scale)
    rows = math.prod(shape[:-1]) * each
    return rows, 1.0 / rows


def labels_divisor(
    target: Any,
    weight: tuple[float, ...] | None,
    ignore_index: int | None,
    reduction: Reduction,
    prediction: Float[AnyArray, "*batch classes"],
) -> float | None:
    """Alpha of a mean, on the host; 0 where no label counts, and None where batches are added up or joined."""
    shape = prediction.shape
    if reduction not in ("mean", "batchmean"):
        return mean_divisor(shape, reduction)
    each = shape[-1] if reduction == "mean" else 1
    if len(target.shape) == len(shape):
        return float(math.prod(shape[:-1]) * each)
    labels = to_numpy(target).reshape(-1)
    if weight is None and ignore_index is None:
        return float(each * labels.size)
    weights = None if weight is None else np.asarray(weight, prediction.dtype)
    return each * float(count(labels, weights, index_of(ignore_index)))
