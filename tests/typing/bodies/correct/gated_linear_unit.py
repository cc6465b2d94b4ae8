"""A gated linear unit."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from typednn import Array2, Gradient, Kept, Layer, S


@dataclass(frozen=True)
class GLUGrad(Gradient):
    input: Float[Array2, "batch features"]


class GLU(Layer[Array2, Array2, GLUGrad, S]):
    _value: Kept[Float[Array2, "batch half"]]
    _gate: Kept[Float[Array2, "batch half"]]

    def forward(self, x: Float[Array2, "batch features"]) -> Float[Array2, "batch features//2"]:
        value, gate = np.split(x, 2, axis=1)
        self._value, self._gate = value, 1.0 / (1.0 + np.exp(-gate))
        return self._value * self._gate

    def backward(self, next_grad: Float[Array2, "batch half"]) -> GLUGrad:
        dgate = next_grad * self._value * self._gate * (1.0 - self._gate)
        return GLUGrad(np.concatenate([next_grad * self._gate, dgate], axis=1))


if __name__ == "__main__":
    layer = GLU()
    print(layer.backward(layer.forward(np.ones((14, 10), np.float32))).input.shape)
