"""GLU: one half of the features, each gated by its partner in the other half.

y = a·σ(b), x = [a, b] along the last axis       da = dy·σ(b)       db = dy·a·σ(b)·(1 - σ(b))

x, dx (rows, 2·features), y (rows, features). One exponential per result, forward and backward.
Source: Dauphin, Fan, Auli and Grangier, "Language Modeling with Gated Convolutional Networks", 2017, equation 1.
"""

from typednn.arrays import Array2, namespace
from typednn.kernels.pointwise import sigmoid, sloped


def forward(x: Array2) -> Array2:
    """y (rows, features)."""
    xp, half = namespace(x), x.shape[1] // 2
    y: Array2 = sloped(xp, x[:, :half], sigmoid.formulas[0].on_arrays(xp, x[:, half:]))
    return y


def backward(next_grad: Array2, x: Array2) -> Array2:
    """dx (rows, 2·features)."""
    xp, half = namespace(x), x.shape[1] // 2
    gate = sigmoid.formulas[0].on_arrays(xp, x[:, half:])
    da, db = sloped(xp, next_grad, gate), sloped(xp, next_grad * x[:, :half], gate * (1 - gate))
    dx: Array2 = xp.concatenate((da, db), axis=1)
    return dx
