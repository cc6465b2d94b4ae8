"""Floats given to a first layer that reads tokens: plain mypy sees it."""
# pyright: reportArgumentType=false

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Integer

from typednn import Array2, Array3, FirstLayer, Gradient, IntArray2, Kept, Parameter, S


@dataclass(frozen=True)
class EmbeddingGrad(Gradient):
    input: None
    weight: Float[Array2, "vocab features"]


class Embedding(FirstLayer[IntArray2, Array3, EmbeddingGrad, S]):
    weight: Parameter[Float[Array2, "{self.vocab} {self.features}"]]
    _tokens: Kept[Integer[IntArray2, "batch time"]]

    def __init__(self, vocab: int, features: int) -> None:
        self.vocab, self.features = vocab, features

    def forward(self, x: Integer[IntArray2, "batch time"]) -> Float[Array3, "batch time {self.features}"]:
        self._tokens = x
        return self.weight[x]

    def backward(self, next_grad: Float[Array3, "batch time {self.features}"]) -> EmbeddingGrad:
        weight = np.zeros_like(self.weight)
        np.add.at(weight, self._tokens, next_grad)
        return EmbeddingGrad(None, weight)


embedding = Embedding(5, 8)


def read(tokens: Float[Array2, "batch 3"]) -> Float[Array3, "batch 3 8"]:
    return embedding.forward(tokens)  # mypy: arg-type


if __name__ == "__main__":
    embedding.init(np.random.default_rng(0))
    read(np.ones((2, 3), np.float32))
