"""The backward of layer normalisation."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from typednn import Array1, Array3, Gradient, Kept, Layer, Parameter, S


@dataclass(frozen=True)
class NormGrad(Gradient):
    input: Float[Array3, "batch time features"]
    weight: Float[Array1, " features"]


class Norm(Layer[Array3, Array3, NormGrad, S]):
    weight: Parameter[Float[Array1, " {self.features}"]]
    _h: Kept[Float[Array3, "batch time {self.features}"]]
    _r: Kept[Float[Array3, "batch time 1"]]

    def __init__(self, features: int) -> None:
        self.features = features
        self.initialise_with(weight="ones")

    def forward(self, x: Float[Array3, "batch time {self.features}"]) -> Float[Array3, "batch time {self.features}"]:
        centred = x - x.mean(axis=-1, keepdims=True)
        self._r = 1.0 / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)
        self._h = centred * self._r
        return self._h * self.weight

    def backward(self, next_grad: Float[Array3, "batch time {self.features}"]) -> NormGrad:
        dh = next_grad * self.weight
        dx = dh - dh.mean(axis=-1, keepdims=True) - self._h * (dh * self._h).mean(axis=-1, keepdims=True)
        return NormGrad(dx * self._r, (next_grad * self._h).sum(axis=(0, 1)))


if __name__ == "__main__":
    layer = Norm(5).init(np.random.default_rng(0))
    print(layer.backward(layer.forward(np.ones((2, 7, 5), np.float32))).weight.shape)
