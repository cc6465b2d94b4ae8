"""A convolution over time of one's own, with sizes of the layer inside its axis expressions."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from typednn import Array3, Gradient, Input, Kept, Layer, Parameter, S
from typednn.layers import Linear, PerPosition


@dataclass(frozen=True)
class Conv1dGrad(Gradient):
    input: Float[Array3, "batch time in_channels"]
    weight: Float[Array3, "out_channels kernel in_channels"]


class Conv1d(Layer[Array3, Array3, Conv1dGrad, S]):
    weight: Parameter[Float[Array3, "{self.channels[1]} {self.kernel} {self.channels[0]}"]]
    _x: Kept[Float[Array3, "batch time {self.channels[0]}"]]

    def __init__(self, in_channels: int, out_channels: int, kernel: int = 3) -> None:
        self.channels, self.kernel = (in_channels, out_channels), kernel

    def forward(self, x: Float[Array3, "batch time {self.channels[0]}"]) -> Float[Array3, "batch time-{self.kernel}+1 {self.channels[1]}"]:
        self._x = x
        windows = np.lib.stride_tricks.sliding_window_view(x, self.kernel, axis=1)
        y: Array3 = np.einsum("btik,oki->bto", windows, self.weight)
        return y

    def backward(self, next_grad: Float[Array3, "batch steps {self.channels[1]}"]) -> Conv1dGrad:
        windows = np.lib.stride_tricks.sliding_window_view(self._x, self.kernel, axis=1)
        weight = np.einsum("btik,bto->oki", windows, next_grad)
        dx = np.zeros_like(self._x)
        for k in range(self.kernel):
            dx[:, k : k + next_grad.shape[1]] += np.einsum("bto,oi->bti", next_grad, self.weight[:, k])
        return Conv1dGrad(dx, weight)


model = Input(20, 4) >> Conv1d(4, 8) >> Conv1d(8, 8, kernel=5) >> PerPosition(Linear(8, 2))

if __name__ == "__main__":
    scores = model.init(np.random.default_rng(0)).forward(np.ones((2, 20, 4), np.float32))
    print(scores.shape, model.backward(scores).input.shape)
