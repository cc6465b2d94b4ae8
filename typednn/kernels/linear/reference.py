"""Linear: an affine map and an activation, for every row of a batch.

y = activation(x weightᵀ + bias)
dz = dy·activation'(z), written in terms of y       dx = dz weight    dweight = dzᵀ x    dbias = Σ_batch dz

x (batch, in_features)   y (batch, out_features)   weight (out_features, in_features)   bias (out_features)
2·batch·in·out flops forward, twice that backward.
Source: "Deep Learning Implementation With Rust", eqs 22-24 and 30-33, chained.
"""

from typing import Any

from typednn.arrays import Array1, Array2
from typednn.kernels import sums
from typednn.kernels.activations import IDENTITY, Activation


def forward(x: Array2, weight: Array2, bias: Array1 | None, activation: Activation = IDENTITY) -> Array2:
    """y (batch, out_features)."""
    z: Array2 = x @ weight.T
    if bias is not None:
        z += bias
    y: Array2 = activation.forward(z)
    return y


def backward(
    next_grad: Array2, x: Array2, weight: Array2, y: Array2 | None = None, activation: Activation = IDENTITY, wants_input: bool = True
) -> tuple[Any, Array2, Array1]:
    """(dx, dweight, dbias), shaped like x, weight and bias; dx is None unless wanted.

    ``y`` is what `forward` gave, needed where there is an activation.
    """
    dz = activation.backward(next_grad, y)
    return dz @ weight if wants_input else None, dz.T @ x, sums.over(dz, 0)
