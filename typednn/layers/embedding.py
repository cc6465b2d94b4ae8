"""Embedding: each token becomes its row of a learnt matrix.

y[b, t] = weight[x[b, t]]       dweight[v] = Σ dy[b, t] over all places b, t at which v stands

x (batch, time), integers from 0 to num_embeddings - 1    y (batch, time, embedding_dim)
weight (num_embeddings, embedding_dim)
Keeps x, by reference. One addition per number of dy. The gradient is dense: every row of weight has one, most of them
0. `attend` is a second use of weight, the head of a language model; its flops and derivatives are a Linear's without a
bias. A token outside the vocabulary is refused on the CPU. On a device the check would wait at each step: there it
counts as the nearest one.
Source: Mikolov et al. 2013, "Efficient Estimation of Word Representations in Vector Space"; initial values as
torch.nn.Embedding; Press and Wolf 2017, "Using the Output Embedding to Improve Language Models"; the name `attend` is
Flax's.
"""

from dataclasses import dataclass
from typing import Any, final

from jaxtyping import Float, Integer

from typednn.arguments import integer
from typednn.arrays import AnyArray, Array2, Array3, IntArray2
from typednn.contracts.ranges import check_range
from typednn.errors import ArgumentError, explain
from typednn.kernels import embedding, linear
from typednn.kernels.reshape import reshape
from typednn.layer import A, FirstLayer, S
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
    """``num_embeddings`` tokens; the row of the token ``padding_idx`` begins as zeros and is not learnt (-1 is the last
    token).
    """

    weight: Parameter[Float[Array2, "{self.num_embeddings} {self.embedding_dim}"]]
    _x: Kept[Integer[IntArray2, "batch time"]]
    _attended: Kept[Float[AnyArray, "*positions {self.embedding_dim}"]]

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
                raise ArgumentError(
                    explain("Embedding", f"padding_idx must be a token below {num_embeddings}", repr(place)),
                    "padding_idx",
                )
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

    def attend(self, x: Float[A, "*positions {self.embedding_dim}"]) -> Float[A, "*positions {self.num_embeddings}"]:
        """x weightᵀ: a score for each token, where a model's head has the weight of its embedding. Keeps x."""
        self._attended = x
        scores: A = reshape(linear.forward(_rows(x), self.weight, None), (*x.shape[:-1], self.num_embeddings))
        return scores

    def attend_backward(
        self, next_grad: Float[A, "*positions {self.num_embeddings}"]
    ) -> tuple[
        Float[A, "*positions {self.embedding_dim}"], Float[Array2, "{self.num_embeddings} {self.embedding_dim}"]
    ]:
        """What `attend` sends back, and its part of the derivative by the weight."""
        dx, dweight, _ = linear.backward(_rows(next_grad), _rows(self._attended), self.weight)
        return reshape(dx, self._attended.shape), dweight

    def backward_of_both(
        self,
        next_grad: Float[Array3, "batch time {self.embedding_dim}"],
        dweight: Float[Array2, "{self.num_embeddings} {self.embedding_dim}"],
    ) -> EmbeddingGrad:
        """`backward`, added to `attend_backward`'s ``dweight``, which it writes: one array of the weight's size, and
        not three.
        """
        embedding.add_backward(dweight, next_grad, self._x, self.padding_idx)
        return EmbeddingGrad(None, dweight)


def _rows(x: Float[AnyArray, "*positions features"]) -> Float[Array2, "_ features"]:
    rows: Array2 = reshape(x, (-1, x.shape[-1]))
    return rows


@dataclass(frozen=True, slots=True)
class _ZeroRow:
    """Another rule's numbers, but zeros in one row."""

    rule: Initialiser
    row: int

    def __call__(self, rng: Rng, shape: tuple[int, ...], fans: Fans) -> Any:
        numbers = self.rule(rng, shape, fans)
        numbers[self.row] = 0.0
        return numbers
