"""A language model whose class method gives the head the heads' size."""

from typing import Any, Self

import numpy as np

from typednn import Sequential
from typednn.layers import Embedding, LayerNorm, LearnedPositions, MultiHeadAttention, Residual, SequenceLinear


class LanguageModel(Sequential[Any]):
    @classmethod
    def create(cls, vocabulary: int, width: int, heads: int, length: int) -> Self:
        return cls(
            [  # meets
                Embedding(vocabulary, width),
                LearnedPositions(length, width),
                Residual(LayerNorm(width) >> MultiHeadAttention(width, heads, causal=True)),
                LayerNorm(width),
                SequenceLinear(width // heads, vocabulary),  # shape
            ]
        )


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model = LanguageModel.create(50, 16, 4, length=12).init(rng)  # meets
    print(model.forward(rng.integers(0, 50, (2, 12))).shape)
