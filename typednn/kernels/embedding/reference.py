"""Embedding: a row of a matrix for each token.

y[b, t] = weight[tokens[b, t]]       dweight[v] = Σ dy[b, t] over all places b, t at which v stands

tokens (batch, time)    weight (vocab, features)
y (batch, time, features). A token outside 0 .. vocab - 1 counts as the nearest one
inside; the layer refuses it where it can. One addition per number of dy.
"""

from typing import Any

from jaxtyping import Float, Integer

from typednn.arrays import Array2, Array3, IntArray2, namespace


def forward(
    tokens: Integer[IntArray2, "batch time"], weight: Float[Array2, "vocab features"]
) -> Float[Array3, "batch time features"]:
    """y."""
    y: Array3 = weight[_inside(tokens, weight.shape[0])]
    return y


def backward(
    next_grad: Float[Array3, "batch time features"],
    tokens: Integer[IntArray2, "batch time"],
    vocab: int,
    padding: int | None = None,
) -> Float[Array2, "{vocab} features"]:
    """dweight (vocab, features), summed in double precision in the order of the tokens; 0 in row ``padding``."""
    xp, features = namespace(next_grad), next_grad.shape[2]
    places: Any = _inside(tokens, vocab).reshape(-1, 1) * features + xp.arange(features)
    terms = next_grad.reshape(-1).astype("float64", copy=False)
    sums = xp.bincount(places.reshape(-1), weights=terms, minlength=vocab * features)
    dweight: Array2 = sums.reshape(vocab, features).astype(next_grad.dtype)
    if padding is not None:
        dweight[padding] = 0
    return dweight


def add_backward(
    dweight: Float[Array2, "vocab features"],
    next_grad: Float[Array3, "batch time features"],
    tokens: Integer[IntArray2, "batch time"],
    padding: int | None = None,
) -> tuple[Float[Array2, "vocab features"]]:
    """dweight + `backward`; 0 in row ``padding``."""
    total: Array2 = dweight + backward(next_grad, tokens, dweight.shape[0])
    if padding is not None:
        total[padding] = 0
    return (total,)


def _inside(tokens: Integer[IntArray2, "batch time"], vocab: int) -> Integer[IntArray2, "batch time"]:
    inside: IntArray2 = namespace(tokens).clip(tokens, 0, vocab - 1).astype("int64")
    return inside
