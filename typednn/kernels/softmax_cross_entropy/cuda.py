"""Cross entropy of logits in CUDA: a block of threads for each row, in one launch; the reference takes nine.

The formulas are those of reference.py. A thread takes every THREADS-th class; a tree in shared memory reduces their results, so that a
sum's order depends on the number of classes alone.
"""

from typing import Any

import numpy as np

from typednn.arrays import Array2, IntArray1, is_array, namespace
from typednn.engines.cuda import CudaKernel, on_gpu
from typednn.kernels.class_targets import NONE, probabilities

_CODE = """
struct Larger { __device__ REAL operator()(REAL a, REAL b) { return a < b ? b : a; } };
struct Sum { __device__ REAL operator()(REAL a, REAL b) { return a + b; } };

// The values of all threads of the block, reduced to one; every thread gets the result.
template <class Join>
__device__ REAL joined(REAL value, REAL* shared, Join join) {
    shared[threadIdx.x] = value;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) shared[threadIdx.x] = join(shared[threadIdx.x], shared[threadIdx.x + half]);
        __syncthreads();
    }
    REAL result = shared[0];
    __syncthreads();
    return result;
}

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

extern "C" __global__ void softmax_cross_entropy_forward(
    const REAL* __restrict__ logits, const REAL* __restrict__ target, REAL* __restrict__ loss, int rows, int classes
) {
    __shared__ REAL shared[THREADS];
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        int first = row * classes;
        REAL top = largest(logits + first, classes, shared);
        REAL log_sum = log(exponentials(logits + first, top, classes, shared));
        for (int c = threadIdx.x; c < classes; c += THREADS) {
            REAL probability = target[first + c];
            loss[first + c] = (probability == 0 ? 0 : logits[first + c] - top - log_sum) * -probability;
        }
    }
}

extern "C" __global__ void softmax_cross_entropy_backward(
    const REAL* __restrict__ logits, const REAL* __restrict__ target, REAL* __restrict__ grad, REAL scale, int rows, int classes
) {
    __shared__ REAL shared[THREADS];
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        int first = row * classes;
        REAL top = largest(logits + first, classes, shared);
        REAL sum = exponentials(logits + first, top, classes, shared);
        REAL partial = 0;
        for (int c = threadIdx.x; c < classes; c += THREADS) partial += target[first + c];
        REAL target_sum = joined(partial, shared, Sum());
        for (int c = threadIdx.x; c < classes; c += THREADS) {
            REAL share = target_sum == 0 ? 0 : exp(logits[first + c] - top) / sum * target_sum;
            grad[first + c] = (share - target[first + c]) * scale;
        }
    }
}
"""
_forward = CudaKernel("softmax_cross_entropy_forward", _CODE)
_backward = CudaKernel("softmax_cross_entropy_backward", _CODE)


def covers(logits: Array2, target: Array2 | IntArray1, *_: object) -> bool:
    """Whether the target is a label for each row, or a row of probabilities as the logits are."""
    labelled = len(target.shape) == 1
    return (labelled or on_gpu(logits, target)) and target.shape == logits.shape[: len(target.shape)]


def forward(
    logits: Array2,
    target: Array2 | IntArray1,
    weight: Any = None,
    smoothing: float = 0.0,
    ignore_index: int = NONE,
    summed: bool = False,
) -> Any:
    """The loss of each sample and class, or their sum; 0 where the target is 0, even for a logit of -inf."""
    loss: Any = namespace(logits).empty(logits.shape, dtype=logits.dtype)
    _forward.rows(*logits.shape, logits, probabilities(logits, target, weight, smoothing, ignore_index), loss)
    return namespace(logits).asarray(loss.sum(dtype=np.float64)) if summed else loss


def backward(logits: Array2, target: Array2 | IntArray1, scale: Any, *settings: Any) -> Array2:
    """The scaled loss by each logit."""
    grad: Array2 = namespace(logits).empty(logits.shape, dtype=logits.dtype)
    q = probabilities(logits, target, *settings)
    if is_array(scale):  # reading it would wait; the derivative is proportional to q
        q, scale = q * scale, 1.0
    _backward.rows(*logits.shape, logits, q, grad, float(scale))
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
