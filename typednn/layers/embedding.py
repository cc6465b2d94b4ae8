"""Embedding: each token becomes its row of a learnt matrix.

y[b, t] = weight[x[b, t]]       dweight[v] = Σ dy[b, t] over all places b, t at which v stands

x (batch, time), integers from 0 to num_embeddings - 1   y (batch, time, embedding_dim)   weight (num_embeddings, embedding_dim)
Keeps x, by reference. One addition per number of dy. The gradient is dense: every row of weight has one, most of them 0.
A token outside the vocabulary is refused on the CPU. On a device the check would wait at each step: there it counts as the nearest one.
Source: Mikolov et al. 2013, "Efficient Estimation of Word Representations in Vector Space"; initial values as torch.nn.Embedding.
"""

from dataclasses import dataclass
from typing import Any, final

from jaxtyping import Float, Integer

from typednn.arguments import integer
from typednn.arrays import Array2, Array3, IntArray2
from typednn.contracts.ranges import check_range
from typednn.errors import ArgumentError, explain
from typednn.kernels import embedding
from typednn.layer import FirstLayer, S
from typednn.module.fields import Kept, Parameter
from typednn.module.gradients import Gradient
from typednn.random import Fans, Initialiser, Normal, Rng, initialiser

_NORMAL = Normal(1.0)


@final
@dataclass(frozen=True, slots=True)
class EmbeddingGrad(Gradient):
    """The loss's derivative by the weight; integers have none."""

    input: None
    weight: Float[Array2, "num_embeddings embedding_dim"]


@final
class Embedding(FirstLayer[IntArray2, Array3, EmbeddingGrad, S]):
    """``num_embeddings`` tokens; the row of the token ``padding_idx`` begins as zeros and is not learnt (-1 is the last token)."""

    weight: Parameter[Float[Array2, "{self.num_embeddings} {self.embedding_dim}"]]
    _x: Kept[Integer[IntArray2, "batch time"]]

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        *,
        weight_init: str | Initialiser = _NORMAL,
        rng: Rng | None = None,
    ) -> None:
        self.num_embeddings: int = integer("Embedding", "num_embeddings", num_embeddings)
        self.embedding_dim: int = integer("Embedding", "embedding_dim", embedding_dim)
        self.padding_idx: int | None = None
        if padding_idx is not None:
            place = integer("Embedding", "padding_idx", padding_idx, least=-self.num_embeddings)
            if place >= self.num_embeddings:
                raise ArgumentError(explain("Embedding", f"padding_idx must be a token below {num_embeddings}", repr(place)), "padding_idx")
            self.padding_idx = place % self.num_embeddings
        rule = initialiser(weight_init, "weight_init")
        self.initialise_with(weight=rule if self.padding_idx is None else _ZeroRow(rule, self.padding_idx))
        if rng is not None:
            self.init(rng)

    def forward(self, x: Integer[IntArray2, "batch time"]) -> Float[Array3, "batch time {self.embedding_dim}"]:
        check_range(self, "tokens", x, 0, self.num_embeddings - 1)
        self._x = x
        return embedding.forward(x, self.weight)

    def backward(self, next_grad: Float[Array3, "batch time {self.embedding_dim}"]) -> EmbeddingGrad:
        return EmbeddingGrad(None, embedding.backward(next_grad, self._x, self.num_embeddings, self.padding_idx))


@dataclass(frozen=True, slots=True)
class _ZeroRow:
    """Another rule's numbers, but zeros in one row."""

    rule: Initialiser
    row: int

    def __call__(self, rng: Rng, shape: tuple[int, ...], fans: Fans) -> Any:
        numbers = self.rule(rng, shape, fans)
        numbers[self.row] = 0.0
        return numbers
