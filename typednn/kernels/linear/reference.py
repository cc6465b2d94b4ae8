"""Linear: one affine map, applied to every row of a batch.

y = x weightᵀ + bias       dx = dy weight    dweight = dyᵀ x    dbias = Σ_batch dy

x (batch, in_features)   y (batch, out_features)   weight (out_features, in_features)   bias (out_features)
2·batch·in·out flops forward, twice that backward.
Source: "Deep Learning Implementation With Rust", eqs 22-24.
"""

from __future__ import annotations

from typednn.arrays import Array1, Array2
from typednn.kernels import sums


def forward(x: Array2, weight: Array2, bias: Array1 | None) -> Array2:
    """y (batch, out_features)."""
    y: Array2 = x @ weight.T
    if bias is not None:
        y += bias
    return y


def backward(next_grad: Array2, x: Array2, weight: Array2) -> tuple[Array2, Array2, Array1]:
    """(dx, dweight, dbias), shaped like x, weight and bias."""
    dx: Array2 = next_grad @ weight
    dweight: Array2 = next_grad.T @ x
    dbias: Array1 = sums.over(next_grad, 0)
    return dx, dweight, dbias
