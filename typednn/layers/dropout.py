"""Dropout: in training, each number is zero with probability p.

y = x / (1 - p) where u > p, else 0    dx = dy / (1 - p) where u > p, else 0    u uniform between 0 and 1; in eval y = x

Any shape. The numbers u are a function of ``seed`` alone: the key of this layer's generator, which `init` draws, and
how many masks were drawn. So a training that is resumed draws the same masks. Keeps these two integers, and computes
the mask again in backward.
Source: Srivastava et al. 2014, "Dropout: A Simple Way to Prevent Neural Networks from Overfitting".
"""

from typing import final

from jaxtyping import Float, Integer

from typednn.arguments import number
from typednn.arrays import IntArray1
from typednn.kernels.dropout import dropout, next_mask
from typednn.layer import A, Elementwise
from typednn.module.fields import Buffer, Kept
from typednn.module.gradients import ElementwiseGrad
from typednn.random import Rng, Seed


@final
class Dropout(Elementwise[None]):
    """Zeros with probability ``p``; a layer that is ``shared()`` shares the seed, and each call draws another mask."""

    seed: Buffer[Integer[IntArray1, "2"]]
    _drawn: Kept[tuple[int, int]]

    def __init__(self, p: float = 0.5, *, rng: Rng | None = None) -> None:
        self.p: float = number("Dropout", "p", p, least=0.0, most=1.0)
        self.initialise_with(seed=Seed())
        if rng is not None:
            self.init(rng)

    def forward(self, x: Float[A, "*shape"]) -> Float[A, "*shape"]:
        if not self.training:
            return x
        self._drawn = key, drawn = next_mask(self.seed)
        return dropout(x, self.p, key, drawn)

    def backward(self, next_grad: Float[A, "*shape"]) -> ElementwiseGrad[A, None]:
        return ElementwiseGrad(dropout(next_grad, self.p, *self._drawn), None)
