"""Softmax: a row of scores becomes a row of probabilities.

y_i = exp(x_i - max x) / Σ_j exp(x_j - max x)       dx = (dy - Σ_j dy_j y_j) y

x, y (batch, features). Keeps y. The maximum is subtracted so that no score overflows.
Source: "Deep Learning Implementation With Rust", eqs 34-35; the Jacobian diag(y) - y yᵀ is never built.
"""

from dataclasses import dataclass
from typing import final

from jaxtyping import Float

from typednn.arrays import Array2
from typednn.kernels import softmax
from typednn.layer import Layer, S
from typednn.module.fields import Kept
from typednn.module.gradients import Gradient


@final
@dataclass(frozen=True, slots=True)
class SoftmaxGrad(Gradient):
    """The loss's derivative by the input."""

    input: Float[Array2, "batch features"]


@final
class Softmax(Layer[Array2, Array2, SoftmaxGrad, S]):
    """Over the features; pair it with `CrossEntropy`, or leave it out and use `SoftmaxCrossEntropy`."""

    _y: Kept[Float[Array2, "batch features"]]

    def forward(self, x: Float[Array2, "batch features"]) -> Float[Array2, "batch features"]:
        self._y = y = softmax.forward(x)
        return y

    def backward(self, next_grad: Float[Array2, "batch features"]) -> SoftmaxGrad:
        return SoftmaxGrad(softmax.backward(next_grad, self._y))
