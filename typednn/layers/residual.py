"""Residual: a layer whose input is added to its output.

y = x + inner(x)       dx = dy + inner's dx

x, y: any shape that ``inner`` keeps. Keeps nothing itself. One addition per number, forward and backward.
Source: He et al. 2015, "Deep Residual Learning for Image Recognition".
"""

from dataclasses import dataclass
from typing import Any, Generic, Literal, final

from jaxtyping import Shaped
from typing_extensions import TypeVar

from typednn.kernels.pointwise import add
from typednn.layer import G, In, Layer, S
from typednn.module.gradients import Gradient

X = TypeVar("X", covariant=True)
Inner = TypeVar("Inner", covariant=True)


@final
@dataclass(frozen=True, slots=True)
class ResidualGrad(Gradient, Generic[X, Inner]):
    """The loss's derivative by the input, and the whole gradient of the inner layer."""

    input: X
    inner: Inner


@final
class Residual(Layer[In, In, ResidualGrad[In, G], S], Generic[In, G, S]):
    """Around any layer that keeps its input's shape; any other is refused by the constructor."""

    inner: Layer[In, In, G, Literal["batch *shape -> batch *shape"]]

    def __init__(self, inner: Layer[In, In, G]) -> None:
        self.inner = inner

    def forward(self, x: Shaped[In, "batch *shape"]) -> Shaped[In, "batch *shape"]:
        inputs: Any = x
        total: In = add(inputs, self.inner.forward(x))
        return total

    def backward(self, next_grad: Shaped[In, "batch *shape"]) -> ResidualGrad[In, G]:
        inner = self.inner.backward(next_grad)
        dy: Any = next_grad
        return ResidualGrad(add(dy, inner.input), inner)
