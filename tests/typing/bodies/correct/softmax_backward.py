"""The backward of softmax over rows."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from typednn import Array2, Gradient, Kept, Layer, S


@dataclass(frozen=True)
class SoftmaxGrad(Gradient):
    input: Float[Array2, "batch classes"]


class Softmax(Layer[Array2, Array2, SoftmaxGrad, S]):
    _y: Kept[Float[Array2, "batch classes"]]

    def forward(self, x: Float[Array2, "batch classes"]) -> Float[Array2, "batch classes"]:
        e = np.exp(x - x.max(axis=1, keepdims=True))
        self._y = e / e.sum(axis=1, keepdims=True)
        return self._y

    def backward(self, next_grad: Float[Array2, "batch classes"]) -> SoftmaxGrad:
        inner = (next_grad * self._y).sum(axis=1, keepdims=True)
        return SoftmaxGrad(self._y * (next_grad - inner))


if __name__ == "__main__":
    layer = Softmax()
    print(layer.backward(layer.forward(np.ones((7, 5), np.float32))).input.shape)
