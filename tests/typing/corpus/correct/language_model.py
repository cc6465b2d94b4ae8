"""An embedding of tokens, a residual block and a head per position."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Integer

from typednn import Array2, Array3, FirstLayer, Gradient, Input, IntArray2, Kept, Parameter, S
from typednn.layers import Linear, PerPosition, ReLU, Residual


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


VOCAB, FEATURES = 11, 8

block = Residual(PerPosition(Linear(FEATURES, 4 * FEATURES) >> ReLU() >> Linear(32, FEATURES)))
model = Input(6, dtype=int) >> Embedding(VOCAB, FEATURES) >> block >> PerPosition(Linear(8, VOCAB))
open_model = Embedding(VOCAB, FEATURES) >> PerPosition(Linear(8, VOCAB))

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    tokens = rng.integers(0, VOCAB, (2, 6))
    print(model.init(rng).forward(tokens).shape, open_model.init(rng).forward(tokens[:, :3]).shape)
