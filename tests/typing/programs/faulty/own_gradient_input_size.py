"""A layer that repeats its features gives the derivative of the repeated ones."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from typednn import Array2, Gradient, Input, Layer, S
from typednn.layers import Linear


@dataclass(frozen=True)
class RowsGrad(Gradient):
    input: Float[Array2, "batch features"]


class Repeated(Layer[Array2, Array2, RowsGrad, S]):
    def __init__(self, features: int, times: int) -> None:
        self.features, self.times = features, times

    def forward(self, x: Float[Array2, "batch {self.features}"]) -> Float[Array2, "batch {self.times}*{self.features}"]:
        return np.concatenate([x] * self.times, axis=1)

    def backward(self, next_grad: Float[Array2, "batch {self.times}*{self.features}"]) -> RowsGrad:
        parts = next_grad.reshape(len(next_grad), self.times, self.features)
        return RowsGrad(next_grad)  # shape


class Doubled(Repeated[S]):
    def __init__(self, features: int) -> None:
        super().__init__(features, times=2)


model = Input(6) >> Doubled(6) >> Linear(12, 3)

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model.init(rng)
    print(model.backward(model.forward(rng.random((2, 6)).astype(np.float32))).input.shape)
