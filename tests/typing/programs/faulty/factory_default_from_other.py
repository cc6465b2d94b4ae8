"""A feed-forward part that is twice as wide in its first half as in its second."""

from typing import Any

import numpy as np

from typednn import Array3, Input, Layer
from typednn.layers import GELU, LayerNorm, MultiHeadAttention, Residual, SequenceLinear


def feed_forward(width: int, inner: int | None = None) -> Any:
    if inner is None:
        inner = 4 * width
    return LayerNorm(width) >> SequenceLinear(width, inner) >> GELU() >> SequenceLinear(2 * width, width)  # shape


def block(width: int, heads: int = 4) -> Layer[Array3, Array3, Any]:
    attention = Residual(LayerNorm(width) >> MultiHeadAttention(width, heads, causal=True))
    return attention >> Residual(feed_forward(width))


model = Input(10, 32) >> block(32) >> block(32, heads=8)  # meets

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model.init(rng)
    print(model.forward(rng.standard_normal((2, 10, 32)).astype(np.float32)).shape)
