"""Dropout2d: in training, each channel of each image is zero with probability p.

y = x / (1 - p) where u > p, else 0    dx = dy / (1 - p) where u > p, else 0
one u for all pixels of a channel; in eval y = x

x, y (batch, height, width, channels). The numbers u are a function of ``seed`` alone: the key of this layer's
generator, which `init` draws, and how many masks were drawn. Keeps these two integers, and computes the mask again in
backward.
Source: Tompson et al. 2015, "Efficient Object Localization Using Convolutional Networks".
"""

from dataclasses import dataclass
from typing import final

from jaxtyping import Float, Integer

from typednn.arguments import number
from typednn.arrays import Array4, IntArray1
from typednn.kernels.dropout import dropout, next_mask
from typednn.layer import Layer, S
from typednn.module.fields import Buffer, Kept
from typednn.module.gradients import Gradient
from typednn.random import Rng, Seed


@final
@dataclass(frozen=True, slots=True)
class Dropout2dGrad(Gradient):
    """The loss's derivative by the input."""

    input: Float[Array4, "batch height width channels"]


@final
class Dropout2d(Layer[Array4, Array4, Dropout2dGrad, S]):
    """Channels of zeros with probability ``p``; a layer that is ``shared()`` shares the seed, and each call draws
    another mask.
    """

    seed: Buffer[Integer[IntArray1, "2"]]
    _drawn: Kept[tuple[int, int]]

    def __init__(self, p: float = 0.5, *, rng: Rng | None = None) -> None:
        self.p: float = number("Dropout2d", "p", p, least=0.0, most=1.0)
        self.initialise_with(seed=Seed())
        if rng is not None:
            self.init(rng)

    def forward(self, x: Float[Array4, "batch height width channels"]) -> Float[Array4, "batch height width channels"]:
        if not self.training:
            return x
        self._drawn = key, drawn = next_mask(self.seed)
        return dropout(x, self.p, key, drawn, True)

    def backward(self, next_grad: Float[Array4, "batch height width channels"]) -> Dropout2dGrad:
        return Dropout2dGrad(dropout(next_grad, self.p, *self._drawn, True))
