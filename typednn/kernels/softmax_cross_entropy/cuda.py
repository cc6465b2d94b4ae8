"""Cross entropy of logits in CUDA: a block of threads for each row, in one launch; the reference takes nine.

The formulas are those of reference.py. A thread takes every THREADS-th class; a tree in shared memory reduces their
results, so that a sum's order depends on the number of classes alone. Labels without weights and smoothing are read as
they are; other targets become q first.
"""

from typing import Any

import numpy as np

from typednn.arrays import Array2, IntArray1, is_array, namespace
from typednn.engines.cuda import JOINED, CudaKernel, on_gpu
from typednn.kernels.class_targets import NONE, probabilities

_CODE = (
    JOINED
    + """
#if LABELLED
typedef long long TARGET;
#define Q(row, c) (target[row] == c && c != ignored ? (REAL)1 : (REAL)0)
#else
typedef REAL TARGET;
#define Q(row, c) target[row * classes + c]
#endif

// NaN is no maximum here: its exponential makes the row's sum NaN.
__device__ REAL largest(const REAL* row, int classes, REAL* shared) {
    REAL top = LOWEST;
    for (int c = threadIdx.x; c < classes; c += THREADS) top = Larger()(top, row[c]);
    return joined(top, shared, Larger());
}

__device__ REAL exponentials(const REAL* row, REAL top, int classes, REAL* shared) {
    REAL sum = 0;
    for (int c = threadIdx.x; c < classes; c += THREADS) sum += exp(row[c] - top);
    return joined(sum, shared, Sum());
}

// The loss of each class or, in double precision, of each row.
extern "C" __global__ void softmax_cross_entropy_forward(
    const REAL* __restrict__ logits, const TARGET* __restrict__ target, LOSS* __restrict__ loss, long long ignored,
    int rows, int classes
) {
    __shared__ REAL shared[THREADS];
    __shared__ double sums[THREADS];
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        int first = row * classes;
        REAL top = largest(logits + first, classes, shared);
        REAL log_sum = log(exponentials(logits + first, top, classes, shared));
        double sum = 0;
        for (int c = threadIdx.x; c < classes; c += THREADS) {
            REAL probability = Q(row, c);
            REAL own = (probability == 0 ? 0 : logits[first + c] - top - log_sum) * -probability;
            if (SUMMED) sum += own;
            else loss[first + c] = own;
        }
        if (SUMMED) {
            sum = joined(sum, sums, Sum());
            if (threadIdx.x == 0) loss[row] = sum;
        }
    }
}

extern "C" __global__ void softmax_cross_entropy_backward(
    const REAL* __restrict__ logits, const TARGET* __restrict__ target, REAL* __restrict__ grad,
    REAL scale, const REAL* __restrict__ held_scale, long long ignored, int rows, int classes
) {
    __shared__ REAL shared[THREADS];
    if (HELD) scale = *held_scale;
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        int first = row * classes;
        REAL top = largest(logits + first, classes, shared);
        REAL sum = exponentials(logits + first, top, classes, shared);
        REAL partial = 0;
        for (int c = threadIdx.x; c < classes; c += THREADS) partial += Q(row, c);
        REAL target_sum = joined(partial, shared, Sum());
        for (int c = threadIdx.x; c < classes; c += THREADS) {
            REAL share = target_sum == 0 ? 0 : exp(logits[first + c] - top) / sum * target_sum;
            grad[first + c] = (share - Q(row, c)) * scale;
        }
    }
}
"""
)
_forward = CudaKernel("softmax_cross_entropy_forward", _CODE)
_backward = CudaKernel("softmax_cross_entropy_backward", _CODE)


def covers(logits: Array2, target: Array2 | IntArray1, *_: object) -> bool:
    """Whether the target is a label for each row, or a row of probabilities as the logits are."""
    labelled = len(target.shape) == 1
    return (type(target) is type(logits) if labelled else on_gpu(logits, target)) and target.shape == logits.shape[
        : len(target.shape)
    ]


def forward(
    logits: Array2,
    target: Array2 | IntArray1,
    weight: Any = None,
    smoothing: float = 0.0,
    ignore_index: int = NONE,
    summed: bool = False,
) -> Any:
    """The loss of each sample and class, or their sum; 0 where the target is 0, even for a logit of -inf."""
    xp = namespace(logits)
    loss: Any = xp.empty(logits.shape[:1], dtype=np.float64) if summed else xp.empty(logits.shape, dtype=logits.dtype)
    q, constants = _read(logits, target, weight, smoothing, ignore_index)
    constants |= {"SUMMED": int(summed), "LOSS": "double" if summed else "REAL", "HELD": 0}
    _forward.rows(*logits.shape, logits, q, loss, np.int64(ignore_index), **constants)
    return xp.asarray(loss.sum()) if summed else loss


def backward(
    logits: Array2,
    target: Array2 | IntArray1,
    scale: Any,
    weight: Any = None,
    smoothing: float = 0.0,
    ignore_index: int = NONE,
) -> Array2:
    """The scaled loss by each logit."""
    grad: Array2 = namespace(logits).empty(logits.shape, dtype=logits.dtype)
    q, constants = _read(logits, target, weight, smoothing, ignore_index)
    held = is_array(scale)  # reading it would wait
    number, array = (0.0, scale.astype(logits.dtype, copy=False)) if held else (float(scale), logits)
    constants |= {"SUMMED": 0, "LOSS": "REAL", "HELD": int(held)}
    _backward.rows(*logits.shape, logits, q, grad, number, array, np.int64(ignore_index), **constants)
    return grad


def forward_and_backward(
    logits: Array2,
    target: Array2 | IntArray1,
    scale: Any,
    weight: Any = None,
    smoothing: float = 0.0,
    ignore_index: int = NONE,
    summed: bool = False,
) -> tuple[Any, Array2]:
    """Both, in two launches."""
    settings = weight, smoothing, ignore_index
    return forward(logits, target, *settings, summed), backward(logits, target, scale, *settings)


def _read(
    logits: Any, target: Any, weight: Any, smoothing: float, ignore_index: int
) -> tuple[Any, dict[str, int | str]]:
    """What kernels read as the target, and their constants for it."""
    if target.ndim == 1 and weight is None and not smoothing:
        return namespace(logits).ascontiguousarray(target.astype(np.int64, copy=False)), {"LABELLED": 1}
    return probabilities(logits, target, weight, smoothing, ignore_index), {"LABELLED": 0}
