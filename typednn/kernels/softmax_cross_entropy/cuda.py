"""Cross entropy of logits in CUDA: a block of threads for each row, in one launch where the reference takes nine.

The formulas are those of reference.py. A thread takes every THREADS-th class; a tree in shared memory joins what they found, so that a
sum's order depends on the number of classes alone.
"""

from __future__ import annotations

from typednn.arrays import Array2, namespace
from typednn.engines import record
from typednn.engines.cuda import CudaKernel, on_gpu

_CODE = """
struct Larger { __device__ REAL operator()(REAL a, REAL b) { return a < b ? b : a; } };
struct Sum { __device__ REAL operator()(REAL a, REAL b) { return a + b; } };

// What all threads of the block found, joined; every thread is told.
template <class Join>
__device__ REAL joined(REAL mine, REAL* shared, Join join) {
    shared[threadIdx.x] = mine;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) shared[threadIdx.x] = join(shared[threadIdx.x], shared[threadIdx.x + half]);
        __syncthreads();
    }
    REAL whole = shared[0];
    __syncthreads();
    return whole;
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

extern "C" __global__ void softmax_cross_entropy_elementwise(
    const REAL* __restrict__ logits, const REAL* __restrict__ target, REAL* __restrict__ loss, int rows, int classes
) {
    __shared__ REAL shared[THREADS];
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        int first = row * classes;
        REAL top = largest(logits + first, classes, shared);
        REAL log_sum = log(exponentials(logits + first, top, classes, shared));
        for (int c = threadIdx.x; c < classes; c += THREADS) {
            REAL wanted = target[first + c];
            loss[first + c] = (wanted == 0 ? 0 : logits[first + c] - top - log_sum) * -wanted;
        }
    }
}

extern "C" __global__ void softmax_cross_entropy_gradient(
    const REAL* __restrict__ logits, const REAL* __restrict__ target, REAL* __restrict__ grad, REAL scale, int rows, int classes
) {
    __shared__ REAL shared[THREADS];
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        int first = row * classes;
        REAL top = largest(logits + first, classes, shared);
        REAL sum = exponentials(logits + first, top, classes, shared);
        REAL mine = 0;
        for (int c = threadIdx.x; c < classes; c += THREADS) mine += target[first + c];
        REAL wanted = joined(mine, shared, Sum());
        for (int c = threadIdx.x; c < classes; c += THREADS) {
            grad[first + c] = (exp(logits[first + c] - top) / sum * wanted - target[first + c]) * scale;
        }
    }
}
"""
_elementwise = CudaKernel("softmax_cross_entropy_elementwise", _CODE)
_gradient = CudaKernel("softmax_cross_entropy_gradient", _CODE)


def covers(logits: Array2, target: Array2) -> bool:
    """Whether the kernels may run."""
    return on_gpu(logits, target) and logits.shape == target.shape


def elementwise(logits: Array2, target: Array2) -> Array2:
    """The loss of each sample and class; 0 where the target is 0, even for a logit of -inf."""
    loss: Array2 = namespace(logits).empty(logits.shape, dtype=logits.dtype)
    _elementwise.rows(*logits.shape, logits, target, loss)
    record("softmax_cross_entropy.elementwise", "cuda")
    return loss


def gradient(logits: Array2, target: Array2, scale: float) -> Array2:
    """The scaled loss by each logit."""
    grad: Array2 = namespace(logits).empty(logits.shape, dtype=logits.dtype)
    _gradient.rows(*logits.shape, logits, target, grad, float(scale))
    record("softmax_cross_entropy.gradient", "cuda")
    return grad
