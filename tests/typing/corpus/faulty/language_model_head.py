"""A language model whose head reads eight times the features of its embedding."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Integer

from typednn import Array2, Array3, FirstLayer, Gradient, Input, IntArray2, Kept, Parameter, S
from typednn.layers import Linear, PerPosition


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


model = Input(6, dtype=int) >> Embedding(vocab=11, features=8) >> PerPosition(Linear(64, 11))  # shape: expects 64 features, gets 8
