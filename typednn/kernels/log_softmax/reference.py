"""LogSoftmax: the logarithms of the distribution that softmax makes of a row.

y_j = x_j - max x - log Σ_k exp(x_k - max x)       dx = dy - exp(y)·Σ_k dy_k

x, y (batch, features). The logarithm is taken of the sum alone, so that a small probability does not become log 0. One
exponential per number, and a logarithm per row; one exponential and three operations per number backward.
Source: the logarithm of "Deep Learning Implementation With Rust", eq 34; torch.nn.LogSoftmax.
"""

from jaxtyping import Float

from typednn.arrays import Array2, namespace


def forward(x: Float[Array2, "batch features"]) -> Float[Array2, "batch features"]:
    """y."""
    xp = namespace(x)
    shifted = x - x.max(axis=1, keepdims=True)
    y: Float[Array2, "batch features"] = shifted - xp.log(xp.exp(shifted).sum(axis=1, keepdims=True))
    return y


def backward(
    next_grad: Float[Array2, "batch features"], y: Float[Array2, "batch features"]
) -> Float[Array2, "batch features"]:
    """dx, from what `forward` gave."""
    dx: Float[Array2, "batch features"] = next_grad - namespace(y).exp(y) * next_grad.sum(axis=1, keepdims=True)
    return dx
