"""Repeat: copies of a layer one after another, each with parameters of its own.

y = copy_times(… copy_2(copy_1(x)))       dx: each copy's dx, from the last to the first

x, y: any shape that the layer keeps. Keeps nothing itself. No arithmetic of its own.
"""

import copy
from dataclasses import dataclass
from typing import Generic, Literal, final

from jaxtyping import Shaped
from typing_extensions import TypeVar

from typednn.arguments import integer
from typednn.layer import G, In, Layer, S, run, run_back
from typednn.module.gradients import Gradient

X = TypeVar("X", covariant=True)
Inner = TypeVar("Inner", covariant=True)


@final
@dataclass(frozen=True, slots=True)
class RepeatGrad(Gradient, Generic[X, Inner]):
    """The loss's derivative by the input, and the whole gradient of each copy."""

    input: X
    copies: tuple[Inner, ...]


@final
class Repeat(Layer[In, In, RepeatGrad[In, G], S], Generic[In, G, S]):
    """``times`` copies of ``inner``, which keeps the shape; `init` draws each by itself. ``shared()`` makes layers that share."""

    copies: tuple[Layer[In, In, G, Literal["batch *shape -> batch *shape"]], ...]

    def __init__(self, inner: Layer[In, In, G], times: int) -> None:
        self.copies = tuple(copy.deepcopy(inner) for _ in range(integer("Repeat", "times", times)))

    def forward(self, x: Shaped[In, "batch *shape"]) -> Shaped[In, "batch *shape"]:
        y: In = run(self.copies, x)
        return y

    def backward(self, next_grad: Shaped[In, "batch *shape"]) -> RepeatGrad[In, G]:
        gradient = run_back(self.copies, next_grad)
        return RepeatGrad(gradient.input, gradient.parts)
