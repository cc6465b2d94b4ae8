"""LayerNorm and RMSNorm in CUDA: a block of threads for each row; then dweight and dbias, sums over rows.

A row's mean and variance are sums in double precision, as in reference.py: first the mean, then the squares of what
differs from it.
"""

from typing import Any, Final

import numpy as np

from typednn.arrays import AnyArray, Array1, namespace
from typednn.engines.cuda import JOINED, CudaKernel
from typednn.engines.cuda_formula import CudaColumnSums

_CODE = (
    JOINED
    + """
__device__ double mean_of(const REAL* x, int columns, double* shared) {
    if (!CENTRED) return 0;
    double sum = 0;
    for (int c = threadIdx.x; c < columns; c += THREADS) sum += x[c];
    return joined(sum, shared, Sum()) / columns;
}

__device__ double rate_of(const REAL* x, double mean, double eps, int columns, double* shared) {
    double sum = 0;
    for (int c = threadIdx.x; c < columns; c += THREADS) sum += (x[c] - mean) * (x[c] - mean);
    return 1 / sqrt(joined(sum, shared, Sum()) / columns + eps);
}

extern "C" __global__ void layer_norm_forward(
    const REAL* __restrict__ x, const REAL* __restrict__ weight, const REAL* __restrict__ bias, REAL* __restrict__ y,
    double eps, int rows, int columns
) {
    __shared__ double shared[THREADS];
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        int first = row * columns;
        double mean = mean_of(x + first, columns, shared), rate = rate_of(x + first, mean, eps, columns, shared);
        for (int c = threadIdx.x; c < columns; c += THREADS) {
            REAL h = (REAL)((x[first + c] - mean) * rate);
            if (WEIGHTED) h *= weight[c];
            y[first + c] = BIASED ? h + bias[c] : h;
        }
    }
}

extern "C" __global__ void layer_norm_backward(
    const REAL* __restrict__ next_grad, const REAL* __restrict__ x, const REAL* __restrict__ weight,
    REAL* __restrict__ dx, REAL* __restrict__ normal, double eps, int rows, int columns
) {
    __shared__ double shared[THREADS];
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        int first = row * columns;
        double mean = mean_of(x + first, columns, shared), rate = rate_of(x + first, mean, eps, columns, shared);
        double by_itself = 0, by_normal = 0;
        for (int c = threadIdx.x; c < columns; c += THREADS) {
            REAL h = (REAL)((x[first + c] - mean) * rate);
            REAL g = WEIGHTED ? next_grad[first + c] * weight[c] : next_grad[first + c];
            normal[first + c] = h;
            by_itself += g;
            by_normal += g * h;
        }
        by_normal = joined(by_normal, shared, Sum()) / columns;
        by_itself = CENTRED ? joined(by_itself, shared, Sum()) / columns : 0;
        for (int c = threadIdx.x; c < columns; c += THREADS) {
            REAL h = normal[first + c], g = WEIGHTED ? next_grad[first + c] * weight[c] : next_grad[first + c];
            dx[first + c] = (REAL)((g - h * by_normal - by_itself) * rate);
        }
    }
}
"""
)
_forward = CudaKernel("layer_norm_forward", _CODE)
_backward = CudaKernel("layer_norm_backward", _CODE)


def _terms(xp: Any, next_grad: Any, normal: Any) -> tuple[Any, Any]:
    """Of dweight and dbias."""
    return next_grad * normal, next_grad


_parameters: Final = CudaColumnSums("layer_norm_parameters", _terms, 2, results=2)


def covers(x: AnyArray, weight: Array1 | None, bias: Array1 | None, *_: object) -> bool:
    """Whether the sizes fit together."""
    return all(array is None or array.shape == x.shape[-1:] for array in (weight, bias))


def covers_backward(next_grad: AnyArray, x: AnyArray, weight: Array1 | None, *_: object) -> bool:
    """Whether the sizes fit together."""
    return next_grad.shape == x.shape and covers(x, weight, None)


def forward(x: Any, weight: Any, bias: Any, eps: float, centred: bool) -> Any:
    """y."""
    y: Any = namespace(x).empty_like(x)
    _forward.rows(*_rows(x), x, *_given(x, weight, bias), y, np.float64(eps), **_constants(weight, bias, centred))
    return y


def backward(next_grad: Any, x: Any, weight: Any, eps: float, centred: bool) -> tuple[Any, Any, Any]:
    """(dx, dweight, dbias)."""
    dx, normal = namespace(x).empty_like(x), namespace(x).empty_like(x)
    arrays = next_grad, x, *_given(x, weight), dx, normal
    _backward.rows(*_rows(x), *arrays, np.float64(eps), **_constants(weight, None, centred))
    return dx, *_parameters.run(next_grad, normal)


def _rows(x: Any) -> tuple[int, int]:
    columns: int = x.shape[-1]
    return x.size // columns, columns


def _given(x: Any, *parameters: Any) -> list[Any]:
    """An absent parameter is not read: any array stands for it."""
    return [x if each is None else each for each in parameters]


def _constants(weight: Any, bias: Any, centred: bool) -> dict[str, int | str]:
    return {"CENTRED": int(centred), "WEIGHTED": int(weight is not None), "BIASED": int(bias is not None)}
