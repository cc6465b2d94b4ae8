"""LearnedPositions: adds to each vector of a sequence a vector that is learnt for its position.

y_t = x_t + weight_t       dx = dy    dweight_t = Σ_batch dy_t, 0 for positions beyond the sequence

x, y (batch, time, embed_dim), time up to max_length   weight (max_length, embed_dim). Keeps nothing. One addition per
                                                       number.
Source: Gehring et al. 2017, "Convolutional Sequence to Sequence Learning"; initial values as GPT-2's.
"""

from dataclasses import dataclass
from typing import final

from jaxtyping import Float

from typednn.arguments import integer
from typednn.arrays import Array2, Array3
from typednn.contracts.protocols import Incremental
from typednn.errors import ShapeError, explain
from typednn.kernels.positions import add_learned, learned_backward
from typednn.kernels.reshape import reshape
from typednn.layer import Layer, S
from typednn.module.fields import Parameter
from typednn.module.gradients import Gradient
from typednn.random import Initialiser, Normal, Rng

SMALL = Normal(0.02)


@final
@dataclass(frozen=True, slots=True)
class LearnedPositionsGrad(Gradient, relations=("max(time,max_length) == max_length",)):
    """The loss's derivative by each quantity, under that quantity's own name."""

    input: Float[Array3, "batch time embed_dim"]
    weight: Float[Array2, "max_length embed_dim"]


@final
class LearnedPositions(Layer[Array3, Array3, LearnedPositionsGrad, S], Incremental[int]):
    """For sequences of up to ``max_length`` positions; longer ones are refused. A ``step``'s state is the number of
    positions so far.
    """

    weight: Parameter[Float[Array2, "{self.max_length} {self.embed_dim}"]]

    def __init__(
        self, max_length: int, embed_dim: int, *, weight_init: str | Initialiser = SMALL, rng: Rng | None = None
    ) -> None:
        self.max_length: int = integer("LearnedPositions", "max_length", max_length)
        self.embed_dim: int = integer("LearnedPositions", "embed_dim", embed_dim)
        self.initialise_with(weight=weight_init)
        if rng is not None:
            self.init(rng)

    def forward(self, x: Float[Array3, "batch time {self.embed_dim}"]) -> Float[Array3, "batch time {self.embed_dim}"]:
        self._check("forward", x.shape[1])
        return add_learned(x, self.weight)

    def backward(self, next_grad: Float[Array3, "batch time {self.embed_dim}"]) -> LearnedPositionsGrad:
        return LearnedPositionsGrad(next_grad, learned_backward(next_grad, self.max_length))

    def read(
        self, x: Float[Array3, "batch time {self.embed_dim}"], state: int | None = None
    ) -> tuple[Float[Array3, "batch time {self.embed_dim}"], int]:
        """What `forward` gives at the positions behind the first ``state``, and how many there are after them."""
        first = state or 0
        self._check("read", first + x.shape[1])
        return add_learned(x, self.weight, first), first + x.shape[1]

    def step(
        self, x: Float[Array2, "batch {self.embed_dim}"], state: int | None = None
    ) -> tuple[Float[Array2, "batch {self.embed_dim}"], int]:
        y, after = self.read(reshape(x, (len(x), 1, self.embed_dim)), state)
        return reshape(y, x.shape), after

    def _check(self, method: str, length: int) -> None:
        if length > self.max_length:
            rule = f"knows {self.max_length} positions"
            raise ShapeError(
                explain(f"{self.label()}.{method}", rule, f"a sequence of {length}", "cut it, or set max_length"), self
            )
