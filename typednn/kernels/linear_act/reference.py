"""Linear and ReLU in one: y = max(x weightᵀ + bias, 0), and backward from y alone.

dz = dy where y > 0, else 0       dx = dz weight    dweight = dzᵀ x    dbias = Σ_batch dz

x (batch, in_features)   y (batch, out_features)   weight (out_features, in_features)   bias (out_features)
2·batch·in·out flops forward, twice that backward. Here the two ops run one after another, each on the engine that it chooses.
Source: "Deep Learning Implementation With Rust", eqs 22-24 and 30-31, chained.
"""

from __future__ import annotations

from typednn.arrays import Array1, Array2
from typednn.kernels import linear, relu


def forward(x: Array2, weight: Array2, bias: Array1 | None) -> Array2:
    """y (batch, out_features)."""
    return relu.forward(linear.forward(x, weight, bias))


def backward(next_grad: Array2, x: Array2, y: Array2, weight: Array2, wants_input: bool = True) -> tuple[Array2 | None, Array2, Array1]:
    """(dx, dweight, dbias), shaped like x, weight and bias; dx is None unless wanted. ``y`` is what `forward` gave."""
    # y > 0 exactly where x weightᵀ + bias > 0.
    dx, dweight, dbias = linear.backward(relu.backward(next_grad, y), x, weight)
    return dx if wants_input else None, dweight, dbias
