"""Softmax: each row becomes a distribution over its features.

y_j = exp(x_j - max x) / Σ_k exp(x_k - max x)       dx = (dy - Σ_k dy_k·y_k)·y

x, y (batch, features). The maximum cancels out, and keeps exp from overflowing. dx is dy times the Jacobian diag(y) - y
yᵀ, which is never built. One exponential per element, four operations backward.
Source: "Deep Learning Implementation With Rust", eqs 34-35 (the sum of eq 34 runs over features).
"""

from jaxtyping import Float

from typednn.arrays import Array2, namespace


def forward(x: Float[Array2, "batch features"]) -> Float[Array2, "batch features"]:
    """y."""
    y: Float[Array2, "batch features"] = namespace(x).exp(x - x.max(axis=1, keepdims=True))
    y /= y.sum(axis=1, keepdims=True)
    return y


def backward(
    next_grad: Float[Array2, "batch features"], y: Float[Array2, "batch features"]
) -> Float[Array2, "batch features"]:
    """dx, from what `forward` gave."""
    dx: Array2 = (next_grad - (next_grad * y).sum(axis=1, keepdims=True)) * y
    return dx
