"""LogSoftmax: a row of scores becomes the logarithms of its probabilities.

y_i = x_i - max x - log Σ_j exp(x_j - max x)       dx = dy - exp(y) Σ_j dy_j

x, y (batch, features). Keeps y. A probability that is too small for a float still has its logarithm.
Source: the logarithm of "Deep Learning Implementation With Rust", eq 34; torch.nn.LogSoftmax.
"""

from dataclasses import dataclass
from typing import final

from jaxtyping import Float

from typednn.arrays import Array2
from typednn.kernels import log_softmax
from typednn.layer import Layer, S
from typednn.module.fields import Kept
from typednn.module.gradients import Gradient


@final
@dataclass(frozen=True, slots=True)
class LogSoftmaxGrad(Gradient):
    """The loss's derivative by the input."""

    input: Float[Array2, "batch features"]


@final
class LogSoftmax(Layer[Array2, Array2, LogSoftmaxGrad, S]):
    """Over the features; to train on classes use scores and `SoftmaxCrossEntropy`."""

    _y: Kept[Float[Array2, "batch features"]]

    def forward(self, x: Float[Array2, "batch features"]) -> Float[Array2, "batch features"]:
        self._y = y = log_softmax.forward(x)
        return y

    def backward(self, next_grad: Float[Array2, "batch features"]) -> LogSoftmaxGrad:
        return LogSoftmaxGrad(log_softmax.backward(next_grad, self._y))
