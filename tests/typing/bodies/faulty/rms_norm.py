"""RMSNorm over features: the squares are averaged over time; runs all the same."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from typednn import Array1, Array3, Gradient, Kept, Layer, Parameter, S


@dataclass(frozen=True)
class RMSNormGrad(Gradient):
    input: Float[Array3, "batch time features"]
    weight: Float[Array1, " features"]


class RMSNorm(Layer[Array3, Array3, RMSNormGrad, S]):
    weight: Parameter[Float[Array1, " {self.features}"]]
    _x: Kept[Float[Array3, "batch time {self.features}"]]
    _r: Kept[Float[Array3, "batch time 1"]]

    def __init__(self, features: int) -> None:
        self.features = features
        self.initialise_with(weight="ones")

    def forward(self, x: Float[Array3, "batch time {self.features}"]) -> Float[Array3, "batch time {self.features}"]:
        r: Array3 = 1.0 / np.sqrt(np.mean(x * x, axis=1, keepdims=True) + 1e-6)
        self._x, self._r = x, r  # shape: _r
        return x * r * self.weight

    def backward(self, next_grad: Float[Array3, "batch time {self.features}"]) -> RMSNormGrad:
        h, dh = self._x * self._r, next_grad * self.weight
        dx = self._r * (dh - h * (dh * h).mean(axis=-1, keepdims=True))
        return RMSNormGrad(dx, (next_grad * h).sum(axis=(0, 1)))


if __name__ == "__main__":
    layer = RMSNorm(5).init(np.random.default_rng(0))
    print(layer.backward(layer.forward(np.ones((2, 7, 5), np.float32))).weight.shape)
