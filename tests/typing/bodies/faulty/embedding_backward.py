"""The gradient of an embedding: the tokens are not flattened as the gradient is."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Integer

from typednn import Array2, Array3, FirstLayer, Gradient, IntArray2, Kept, Parameter, S


@dataclass(frozen=True)
class TableGrad(Gradient):
    input: None
    weight: Float[Array2, "vocab features"]


class Table(FirstLayer[IntArray2, Array3, TableGrad, S]):
    weight: Parameter[Float[Array2, "{self.vocab} {self.features}"]]
    _tokens: Kept[Integer[IntArray2, "batch time"]]

    def __init__(self, vocab: int, features: int) -> None:
        self.vocab, self.features = vocab, features

    def forward(self, x: Integer[IntArray2, "batch time"]) -> Float[Array3, "batch time {self.features}"]:
        self._tokens = x
        return self.weight[x]

    def backward(self, next_grad: Float[Array3, "batch time {self.features}"]) -> TableGrad:
        weight = np.zeros_like(self.weight)
        np.add.at(weight, self._tokens, next_grad.reshape(-1, self.features))  # shape: batch time
        return TableGrad(None, weight)


if __name__ == "__main__":
    layer = Table(11, 5).init(np.random.default_rng(0))
    print(layer.backward(layer.forward(np.zeros((3, 7), np.int64))).weight.shape)
