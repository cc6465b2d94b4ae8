"""Targets of a classification as rows of probabilities, and what a mean over them divides by.

q[row, c] = weight[c]·((1 - smoothing)·p[row, c] + smoothing/classes)       counted = Σ_row weight[label]

target: a label for each row, whose p is 1 at the label, or p itself, (rows, classes). A row whose label is
``ignore_index`` or no class is all zeros. ``weight`` (classes), or None for ones.
Source: torch.nn.CrossEntropyLoss; smoothing: Szegedy and others, "Rethinking the Inception Architecture for Computer
Vision", 2016.
"""

from typing import Any, Final

import numpy as np
from jaxtyping import Bool, Float, Integer, Shaped

from typednn.arrays import AnyArray, AnyBoolArray, Array0, Array1, Array2, IntArray1, namespace
from typednn.engines.cuda import JOINED, THREADS, CudaKernel, on_gpu
from typednn.engines.dispatch import FLOATS
from typednn.kernels.op import Engine, op

NONE = -1  # as ``ignore_index``: no class has this label


def one_hot(
    labels: Integer[IntArray1, " batch"], classes: int, dtype: np.dtype[np.floating[Any]], like: AnyArray
) -> Float[Array2, "batch {classes}"]:
    """1 at each label, on the device of ``like``, where ``labels`` must be as well.

    A label outside 0 .. classes - 1 gives a row of zeros. It is not refused here, as a check would make
    a GPU wait; the loss refuses it where it can.
    """
    rows: Array2 = (labels[:, None] == namespace(like).arange(classes)).astype(dtype)
    return rows


def probabilities(
    scores: Float[Array2, "rows classes"],
    target: Any,
    weight: Float[Array1, " classes"] | None = None,
    smoothing: float = 0.0,
    ignore_index: int = NONE,
) -> Float[Array2, "rows classes"]:
    """q, in the dtype of ``scores``."""
    labelled, classes = len(target.shape) == 1, scores.shape[1]
    rows: Any = one_hot(target, classes, scores.dtype, scores) if labelled else target
    if smoothing:
        everywhere: Any = 1.0 if not labelled else _counts(target, classes, ignore_index).astype(scores.dtype)[:, None]
        rows = rows * (1.0 - smoothing) + everywhere * (smoothing / classes)
    if weight is not None:
        rows = rows * weight
    if labelled and 0 <= ignore_index < classes:
        rows = rows * (target != ignore_index)[:, None]
    q: Array2 = rows
    return q


def _counts(labels: Integer[IntArray1, " rows"], classes: int, ignore_index: int) -> Bool[AnyBoolArray, " rows"]:
    """Whether each label is a class that is not ignored."""
    counts: AnyBoolArray = (labels >= 0) & (labels < classes) & (labels.astype(np.int64) != ignore_index)
    return counts


def counts(
    labels: Integer[IntArray1, " rows"], weight: Float[Array1, " classes"] | None, ignore_index: int
) -> Shaped[Any, " rows"]:
    """What each label counts: 0 if it is ``ignore_index``, else the weight of its class, without weights 1."""
    if weight is None:
        return labels.astype(np.int64) != ignore_index
    known = _counts(labels, len(weight), ignore_index)
    return weight[namespace(labels).where(known, labels, 0)] * known


def count(
    labels: Integer[IntArray1, " rows"], weight: Float[Array1, " classes"] | None, ignore_index: int
) -> Float[Array0, ""]:
    """counted, in float64, as float16 ends at 65,504 labels. Without weights every label but
    ``ignore_index`` counts 1.
    """
    total: Array0 = counts(labels, weight, ignore_index).sum(dtype=np.float64)
    return total


def _counted(
    labels: Integer[IntArray1, " rows"],
    weight: Float[Array1, " classes"] | None,
    ignore_index: int,
    times: int,
    dtype: np.dtype[Any],
) -> tuple[Float[Array0, ""], Float[Array0, ""]]:
    """``times``·`count` in float64 and its reciprocal in ``dtype``; both of rank 0.

    Where nothing is counted both are 1: a mean of nothing is then 0, and so is its derivative.
    """
    xp, total = namespace(labels), count(labels, weight, ignore_index)
    divisor = xp.where(total == 0, 1.0, total * times)
    return xp.asarray(divisor, dtype=np.float64), xp.asarray(1.0 / divisor, dtype=dtype)


_MOST_LABELS: Final = 1 << 16  # that one block of threads counts

_counted_on_gpu: Final = CudaKernel(
    "class_targets_counted",
    JOINED
    + """
extern "C" __global__ void class_targets_counted(
    REAL* __restrict__ reciprocal, double* __restrict__ divisor, const long long* __restrict__ labels,
    long long ignored, int times, int size
) {
    __shared__ int shared[THREADS];
    int count = 0;
    for (int row = threadIdx.x; row < size; row += THREADS) count += labels[row] != ignored;
    count = joined(count, shared, Sum());
    if (threadIdx.x == 0) {
        *divisor = count == 0 ? 1 : (double)count * times;
        *reciprocal = (REAL)(1 / *divisor);
    }
}
""",
)


def _unweighted(labels: Any, weight: Any, ignore_index: int, times: int, dtype: np.dtype[Any]) -> bool:
    """Whether a GPU's kernel counts these labels."""
    return (
        weight is None
        and on_gpu(labels, dtypes=(np.dtype(np.int64),))
        and labels.size <= _MOST_LABELS
        and dtype in FLOATS
    )


def _count_on_gpu(labels: Any, weight: None, ignore_index: int, times: int, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """As `_counted`, in one launch."""
    empty = namespace(labels).empty
    reciprocal, divisor = empty((), dtype=dtype), empty((), dtype=np.float64)
    _counted_on_gpu.run(
        1, THREADS, reciprocal, divisor, labels, np.int64(ignore_index), times, labels.size, THREADS=THREADS
    )
    return divisor, reciprocal


counted: Final = op(
    "class_targets.counted",
    _counted,
    Engine("cuda", _count_on_gpu, "weight", sizes=_unweighted, on=on_gpu),
    flops=1,
)
