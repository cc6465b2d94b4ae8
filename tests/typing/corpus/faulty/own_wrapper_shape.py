"""A wrapper of one's own adds what its layer gives to what it read, around a layer that gives another size."""

from dataclasses import dataclass
from typing import Any, Literal, final

from jaxtyping import Float

from typednn import (
    Array2,
    Gradient,
    Input,
    Layer,
    S,
)
from typednn.layers import Linear, ReLU


@final
@dataclass(frozen=True, slots=True)
class HalvedGrad(Gradient):
    input: Float[Array2, "batch features"]
    inner: Any


@final
class Halved(Layer[Array2, Array2, HalvedGrad, S]):
    """Half of what a layer gives is added to what it reads."""

    inner: Layer[Array2, Array2, Any, Literal["batch features -> batch features"]]

    def __init__(self, inner: Layer[Array2, Array2, Any]) -> None:
        self.inner = inner

    def forward(self, x: Float[Array2, "batch features"]) -> Float[Array2, "batch features"]:
        y: Any = self.inner.forward(x)
        total: Array2 = x + 0.5 * y
        return total

    def backward(self, next_grad: Float[Array2, "batch features"]) -> HalvedGrad:
        inner = self.inner.backward(next_grad * 0.5)
        return HalvedGrad(next_grad + inner.input, inner)


block = Halved(Linear(6, 9) >> ReLU() >> Linear(9, 5))  # shape: the inner layer must keep the shape: gets 6, gives 5
model = Input(6) >> block
