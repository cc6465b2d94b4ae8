"""GELU with its derivative."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from typednn import Array2, Gradient, Kept, Layer, S


@dataclass(frozen=True)
class GELUGrad(Gradient):
    input: Float[Array2, "batch features"]


class GELU(Layer[Array2, Array2, GELUGrad, S]):
    _x: Kept[Float[Array2, "batch features"]]

    def forward(self, x: Float[Array2, "batch features"]) -> Float[Array2, "batch features"]:
        self._x = x
        y: Array2 = 0.5 * x * (1.0 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))
        return y

    def backward(self, next_grad: Float[Array2, "batch features"]) -> GELUGrad:
        x = self._x
        t = np.tanh(0.7978845608 * (x + 0.044715 * x**3))
        slope = 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * 0.7978845608 * (1.0 + 0.134145 * x * x)
        return GELUGrad(next_grad * slope)


if __name__ == "__main__":
    layer = GELU()
    print(layer.backward(layer.forward(np.ones((7, 5), np.float32))).input.shape)
