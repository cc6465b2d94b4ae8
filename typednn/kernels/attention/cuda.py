"""Attention on a GPU: products by cuBLAS; the weights of a row, and the derivatives of its scores, are a kernel each.

The formulas are those of reference.py. Some samples are computed at a time, so that no array holds more than
`SCORES_ON_GPU` scores. What a query attends to is the first places of its row: there is no mask and no dropout here.
"""

from typing import Any

from typednn.arrays import namespace
from typednn.engines.cublas import product
from typednn.engines.cuda import JOINED, CudaKernel
from typednn.kernels.attention.reference import SCORES_ON_GPU, by_heads, parts

_CODE = (
    JOINED
    + """
__device__ int attended(int row, int time, int columns) {
    int query = row % time;
    return CAUSAL && query < columns ? query + 1 : columns;
}

extern "C" __global__ void attention_weights(
    REAL* __restrict__ scores, REAL* __restrict__ log_sums, REAL scale, int time, int rows, int columns
) {
    __shared__ REAL shared[THREADS];
    __shared__ double sums[THREADS];
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        REAL* mine = scores + row * columns;
        int last = attended(row, time, columns);
        REAL top = LOWEST;  // NaN is no maximum here: it makes the row's sum NaN
        for (int c = threadIdx.x; c < last; c += THREADS) {
            mine[c] *= scale;
            top = Larger()(top, mine[c]);
        }
        top = joined(top, shared, Larger());
        if (top == LOWEST) top = 0;
        double sum = 0;
        for (int c = threadIdx.x; c < last; c += THREADS) {
            mine[c] = exp(mine[c] - top);
            sum += mine[c];
        }
        REAL total = (REAL)joined(sum, sums, Sum());
        for (int c = threadIdx.x; c < columns; c += THREADS) mine[c] = c < last && total != 0 ? mine[c] / total : 0;
        if (threadIdx.x == 0) log_sums[row] = total == 0 ? -LOWEST : top + log(total);
    }
}

// Scores become weights, and the derivatives by weights those by the products of queries and keys.
extern "C" __global__ void attention_derivatives(
    REAL* __restrict__ scores, REAL* __restrict__ derivatives, const REAL* __restrict__ log_sums,
    REAL scale, int time, int rows, int columns
) {
    __shared__ double shared[THREADS];
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        REAL* weights = scores + row * columns;
        REAL* mine = derivatives + row * columns;
        int last = attended(row, time, columns);
        double mean = 0;
        for (int c = threadIdx.x; c < columns; c += THREADS) {
            REAL score = weights[c] * scale;
            weights[c] = c >= last || score == LOWEST ? 0 : exp(score - log_sums[row]);
            if (weights[c] != 0) mean += weights[c] * mine[c];
        }
        mean = joined(mean, shared, Sum());
        for (int c = threadIdx.x; c < columns; c += THREADS) {
            mine[c] = weights[c] == 0 ? 0 : weights[c] * (mine[c] - (REAL)mean) * scale;
        }
    }
}
"""
)
_weights = CudaKernel("attention_weights", _CODE)
_derivatives = CudaKernel("attention_derivatives", _CODE)


def covers(q: Any, k: Any, v: Any, mask: Any, causal: bool, dropout: Any) -> bool:
    """Whether there is no mask and no dropout, the sizes fit together, and the scores of a sample are not too many."""
    batch, time, heads, features = q.shape
    fitting = k.shape == v.shape == (batch, k.shape[1], heads, features)
    return mask is None and dropout is None and fitting and heads * time * k.shape[1] <= SCORES_ON_GPU


def covers_backward(
    next_grad: Any, q: Any, k: Any, v: Any, mask: Any, y: Any, log_sums: Any, causal: bool, dropout: Any
) -> bool:
    """As `covers`."""
    (batch, time, heads, _), shaped = q.shape, next_grad.shape == q.shape == y.shape
    return covers(q, k, v, mask, causal, dropout) and shaped and log_sums.shape == (batch, heads, time)


def forward(q: Any, k: Any, v: Any, mask: Any, causal: bool, dropout: Any) -> tuple[Any, Any]:
    """(y, log_sums)."""
    xp, (batch, time, heads, features), memory = namespace(q), q.shape, k.shape[1]
    y, log_sums = xp.empty_like(q), xp.empty((batch, heads, time), dtype=q.dtype)
    for some in _pieces(batch, heads * time * memory):
        queries, keys, values = (xp.ascontiguousarray(by_heads(each[some])) for each in (q, k, v))
        weights = product(queries, _transposed(keys))
        _weights.rows(weights.size // memory, memory, weights, log_sums[some], features**-0.5, time, CAUSAL=int(causal))
        y[some] = by_heads(product(weights, values))
    return y, log_sums


def backward(
    next_grad: Any, q: Any, k: Any, v: Any, mask: Any, y: Any, log_sums: Any, causal: bool, dropout: Any
) -> tuple[Any, Any, Any]:
    """(dq, dk, dv)."""
    xp, (batch, time, heads, features), memory = namespace(q), q.shape, k.shape[1]
    dq, dk, dv = xp.empty_like(q), xp.empty_like(k), xp.empty_like(v)
    scale = features**-0.5
    for some in _pieces(batch, heads * time * memory):
        queries, keys, values, grads = (xp.ascontiguousarray(by_heads(each[some])) for each in (q, k, v, next_grad))
        weights, dscores = product(queries, _transposed(keys)), product(grads, _transposed(values))
        _derivatives.rows(
            weights.size // memory, memory, weights, dscores, log_sums[some], scale, time, CAUSAL=int(causal)
        )
        dq[some] = by_heads(product(dscores, keys))
        dk[some] = by_heads(product(_transposed(dscores), queries))
        dv[some] = by_heads(product(_transposed(weights), grads))
    return dq, dk, dv


def covers_self(qkv: Any, heads: int, mask: Any, causal: bool, dropout: Any) -> bool:
    """As `covers`."""
    return covers(*parts(qkv, heads), mask, causal, dropout)


def covers_self_backward(
    next_grad: Any, qkv: Any, mask: Any, y: Any, log_sums: Any, causal: bool, dropout: Any
) -> bool:
    """As `covers`."""
    batch, time, packed = qkv.shape
    shaped = next_grad.shape == y.shape == (batch, time, packed // 3)
    return shaped and covers_self(qkv, log_sums.shape[1], mask, causal, dropout)


def self_forward(qkv: Any, heads: int, mask: Any, causal: bool, dropout: Any) -> tuple[Any, Any]:
    """(y, log_sums)."""
    y, log_sums = forward(*parts(qkv, heads), mask, causal, dropout)
    return y.reshape(*qkv.shape[:2], -1), log_sums


def self_backward(next_grad: Any, qkv: Any, mask: Any, y: Any, log_sums: Any, causal: bool, dropout: Any) -> Any:
    """dqkv."""
    q, k, v = parts(qkv, log_sums.shape[1])
    derivatives = backward(next_grad.reshape(q.shape), q, k, v, mask, y.reshape(q.shape), log_sums, causal, dropout)
    return namespace(qkv).stack(derivatives, axis=2).reshape(qkv.shape)


def _transposed(matrices: Any) -> Any:
    return matrices.transpose(0, 1, 3, 2)


def _pieces(batch: int, scores: int) -> list[slice]:
    """The samples that are computed at a time; each has so many ``scores``."""
    some = max(1, SCORES_ON_GPU // scores)
    return [slice(start, start + some) for start in range(0, batch, some)]
