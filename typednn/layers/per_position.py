"""PerPosition: a layer for rows, applied at every position of a sequence.

y[b,t] = inner(x[b,t]) : x (batch, time, features) is read as (batch·time, features)

The inner layer's batch is batch·time; its parameters' gradients are sums over all positions. Keeps the shapes.
No arithmetic of its own.
"""

from dataclasses import dataclass
from typing import Generic, Literal, final

from jaxtyping import Float
from typing_extensions import TypeVar

from typednn.arrays import Array2, Array3
from typednn.kernels.reshape import reshape
from typednn.layer import G, Layer, S
from typednn.module.fields import Kept
from typednn.module.gradients import Gradient

Inner = TypeVar("Inner", covariant=True)


@final
@dataclass(frozen=True, slots=True)
class PerPositionGrad(Gradient, Generic[Inner]):
    """The loss's derivative by the input, and the whole gradient of the inner layer."""

    input: Float[Array3, "batch time in_features"]
    inner: Inner


@final
class PerPosition(Layer[Array3, Array3, PerPositionGrad[G], S], Generic[G, S]):
    """Around any rank-2 layer or chain: ``PerPosition(Linear(64, 256) >> ReLU() >> Linear(256, 64))``."""

    inner: Layer[Array2, Array2, G, Literal["batch*time in_features -> batch*time out_features"]]
    _shape: Kept[tuple[int, int, int]]

    def __init__(self, inner: Layer[Array2, Array2, G]) -> None:
        self.inner = inner

    def forward(self, x: Float[Array3, "batch time in_features"]) -> Float[Array3, "batch time out_features"]:
        self._shape = x.shape
        batch, time, features = x.shape
        rows = self.inner.forward(reshape(x, (batch * time, features)))
        y: Array3 = reshape(rows, (batch, time, rows.shape[1]))
        return y

    def backward(self, next_grad: Float[Array3, "batch time out_features"]) -> PerPositionGrad[G]:
        batch, time, features = self._shape
        inner = self.inner.backward(reshape(next_grad, (batch * time, next_grad.shape[2])))
        return PerPositionGrad(reshape(inner.input, (batch, time, features)), inner)
