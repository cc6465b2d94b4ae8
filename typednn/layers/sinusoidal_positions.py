"""SinusoidalPositions: adds to each vector of a sequence sines and cosines of its position, of a different wavelength
for each pair.

y_t = x_t + e_t       e_t,2i = sin(t·10000^(-2i/embed_dim))    e_t,2i+1 = cos(t·10000^(-2i/embed_dim))       dx = dy

x, y (batch, time, embed_dim), of any length. Nothing is learnt or kept. One addition per number.
Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.5.
"""

from dataclasses import dataclass
from typing import final

from jaxtyping import Float

from typednn.arguments import integer
from typednn.arrays import Array2, Array3
from typednn.contracts.protocols import Incremental
from typednn.kernels.positions import add_sines
from typednn.kernels.reshape import reshape
from typednn.layer import Layer, S
from typednn.module.gradients import Gradient


@final
@dataclass(frozen=True, slots=True)
class SinusoidalPositionsGrad(Gradient):
    """The loss's derivative by the input."""

    input: Float[Array3, "batch time embed_dim"]


@final
class SinusoidalPositions(Layer[Array3, Array3, SinusoidalPositionsGrad, S], Incremental[int]):
    """After an embedding of ``embed_dim`` features; the state of a ``step`` is the number of positions so far."""

    def __init__(self, embed_dim: int) -> None:
        self.embed_dim: int = integer("SinusoidalPositions", "embed_dim", embed_dim)

    def forward(self, x: Float[Array3, "batch time {self.embed_dim}"]) -> Float[Array3, "batch time {self.embed_dim}"]:
        return add_sines(x)

    def backward(self, next_grad: Float[Array3, "batch time {self.embed_dim}"]) -> SinusoidalPositionsGrad:
        return SinusoidalPositionsGrad(next_grad)

    def step(
        self, x: Float[Array2, "batch {self.embed_dim}"], state: int | None = None
    ) -> tuple[Float[Array2, "batch {self.embed_dim}"], int]:
        place = state or 0
        one: Float[Array3, "batch 1 {self.embed_dim}"] = reshape(x, (len(x), 1, self.embed_dim))
        y: Array2 = reshape(add_sines(one, place), x.shape)
        return y, place + 1
