"""A layer of one's own that keeps the largest number over time."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from typednn import Array2, Array3, Gradient, Input, Kept, Layer, S
from typednn.layers import Conv1d, Linear, ReLU


@dataclass(frozen=True)
class MaxOverTimeGrad(Gradient):
    input: Float[Array3, "batch time features"]


class MaxOverTime(Layer[Array3, Array2, MaxOverTimeGrad, S]):
    _x: Kept[Float[Array3, "batch time features"]]

    def forward(self, x: Float[Array3, "batch time features"]) -> Float[Array2, "batch features"]:
        self._x = x
        y: Array2 = x.max(axis=1)
        return y

    def backward(self, next_grad: Float[Array2, "batch features"]) -> MaxOverTimeGrad:
        x = self._x
        dx = (x == x.max(axis=1, keepdims=True)) * next_grad[:, None, :]
        return MaxOverTimeGrad(dx.astype(next_grad.dtype))


model = Input(12, 6) >> Conv1d(6, 8, 3) >> ReLU() >> MaxOverTime() >> Linear(8, 2)

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model.init(rng)
    print(model.forward(rng.random((3, 12, 6)).astype(np.float32)).shape)
