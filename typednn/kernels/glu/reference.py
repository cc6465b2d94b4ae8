"""GLU: one half of the features, each gated by its partner in the other half.

y = a·σ(b), x = [a, b] along the last axis       da = dy·σ(b)       db = dy·a·σ(b)·(1 - σ(b))

x, dx (rows, 2·features), y (rows, features). One exponential per result, forward and backward.
Source: Dauphin, Fan, Auli and Grangier, "Language Modeling with Gated Convolutional Networks", 2017, equation 1.
"""

from jaxtyping import Float

from typednn.arrays import Array2, namespace
from typednn.kernels.expressions import sloped
from typednn.kernels.pointwise import sigmoid


def forward(x: Float[Array2, "rows features"]) -> Float[Array2, "rows features//2"]:
    """y."""
    xp, half = namespace(x), x.shape[1] // 2
    y: Float[Array2, "rows features//2"] = sloped(xp, x[:, :half], sigmoid.formulas[0].on_arrays(xp, x[:, half:]))
    return y


def backward(next_grad: Float[Array2, "rows half"], x: Float[Array2, "rows 2*half"]) -> Float[Array2, "rows 2*half"]:
    """dx."""
    xp, half = namespace(x), x.shape[1] // 2
    gate = sigmoid.formulas[0].on_arrays(xp, x[:, half:])
    da, db = sloped(xp, next_grad, gate), sloped(xp, next_grad * x[:, :half], gate * (1 - gate))
    dx: Float[Array2, "rows 2*half"] = xp.concatenate((da, db), axis=1)
    return dx
