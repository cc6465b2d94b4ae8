"""Linear: an affine map and an activation, for every row of a batch.

y = activation(x weightᵀ + bias)
dz = dy·activation'(z), written in terms of y       dx = dz weight    dweight = dzᵀ x    dbias = Σ_batch dz

x (batch, in_features)   y (batch, out_features)   weight (out_features, in_features)   bias (out_features)
2·batch·in·out flops forward, twice that backward.
Source: "Deep Learning Implementation With Rust", eqs 22-24 and 30-33, chained.
"""

from typing import Any

from jaxtyping import Float

from typednn.arrays import Array1, Array2
from typednn.kernels import sums
from typednn.kernels.activations import IDENTITY, Activation


def forward(
    x: Float[Array2, "batch in_features"],
    weight: Float[Array2, "out_features in_features"],
    bias: Float[Array1, " out_features"] | None,
    activation: Activation = IDENTITY,
) -> Float[Array2, "batch out_features"]:
    """y."""
    z: Array2 = x @ weight.T
    if bias is not None:
        z += bias
    y: Float[Array2, "batch out_features"] = activation.forward(z)
    return y


def backward(
    next_grad: Float[Array2, "batch out_features"],
    x: Float[Array2, "batch in_features"],
    weight: Float[Array2, "out_features in_features"],
    y: Float[Array2, "batch out_features"] | None = None,
    activation: Activation = IDENTITY,
    wants_input: bool = True,
) -> tuple[Any, Float[Array2, "out_features in_features"], Float[Array1, " out_features"]]:
    """(dx, dweight, dbias), shaped like x, weight and bias; dx is None unless wanted.

    ``y`` is what `forward` gave, needed where there is an activation.
    """
    dz: Float[Array2, "batch out_features"] = activation.backward(next_grad, y)
    return dz @ weight if wants_input else None, dz.T @ x, sums.over(dz, 0)
