"""A transformer's feed-forward part, whose width is four times the model's if none is given."""

from typing import Any

import numpy as np

from typednn import Array3, Input, Layer
from typednn.layers import GELU, LayerNorm, MultiHeadAttention, Residual, SequenceLinear


def feed_forward(width: int, inner: int | None = None) -> Any:
    if inner is None:
        inner = 4 * width
    return LayerNorm(width) >> SequenceLinear(width, inner) >> GELU() >> SequenceLinear(inner, width)


def block(width: int, heads: int = 4) -> Layer[Array3, Array3, Any]:
    attention = Residual(LayerNorm(width) >> MultiHeadAttention(width, heads, causal=True))
    return attention >> Residual(feed_forward(width))


model = Input(10, 32) >> block(32) >> block(32, heads=8)

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model.init(rng)
    print(model.forward(rng.standard_normal((2, 10, 32)).astype(np.float32)).shape)
