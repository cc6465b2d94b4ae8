"""Linear and an activation in one: y = activation(x weightᵀ + bias), and backward from y alone.

dz = dy·activation'(z), written in terms of y       dx = dz weight    dweight = dzᵀ x    dbias = Σ_batch dz

x (batch, in_features)   y (batch, out_features)   weight (out_features, in_features)   bias (out_features)
2·batch·in·out flops forward, twice that backward. Here the two ops run one after another, linear on the engine that it chooses.
Source: "Deep Learning Implementation With Rust", eqs 22-24 and 30-33, chained.
"""

from __future__ import annotations

from typednn.arrays import Array1, Array2
from typednn.kernels import linear
from typednn.kernels.activations import Activation


def forward(x: Array2, weight: Array2, bias: Array1 | None, activation: Activation) -> Array2:
    """y (batch, out_features)."""
    y: Array2 = activation.forward(linear.forward(x, weight, bias))
    return y


def backward(
    next_grad: Array2, x: Array2, y: Array2, weight: Array2, activation: Activation, wants_input: bool = True
) -> tuple[Array2 | None, Array2, Array1]:
    """(dx, dweight, dbias), shaped like x, weight and bias; dx is None unless wanted. ``y`` is what `forward` gave."""
    dx, dweight, dbias = linear.backward(activation.backward(next_grad, y), x, weight)
    return dx if wants_input else None, dweight, dbias
