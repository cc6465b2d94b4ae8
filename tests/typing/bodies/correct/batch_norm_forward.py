"""Normalisation over the batch."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from typednn import Array1, Array2, Buffer, Gradient, Kept, Layer, Parameter, S


@dataclass(frozen=True)
class NormGrad(Gradient):
    input: Float[Array2, "batch features"]
    weight: Float[Array1, " features"]


class Norm(Layer[Array2, Array2, NormGrad, S]):
    weight: Parameter[Float[Array1, " {self.features}"]]
    mean: Buffer[Float[Array1, " {self.features}"]]
    _h: Kept[Float[Array2, "batch {self.features}"]]
    _r: Kept[Float[Array1, " {self.features}"]]

    def __init__(self, features: int) -> None:
        self.features = features
        self.initialise_with(weight="ones", mean="zeros")

    def forward(self, x: Float[Array2, "batch {self.features}"]) -> Float[Array2, "batch {self.features}"]:
        mean = x.mean(axis=0) if self.training else self.mean
        centred = x - mean
        self._r = 1.0 / np.sqrt((centred**2).mean(axis=0) + 1e-5)
        self._h = centred * self._r
        return self._h * self.weight

    def backward(self, next_grad: Float[Array2, "batch {self.features}"]) -> NormGrad:
        dweight, dmean = (next_grad * self._h).sum(axis=0), next_grad.sum(axis=0)
        dx = next_grad - (dmean + self._h * dweight) / len(next_grad)
        return NormGrad(dx * self.weight * self._r, dweight)


if __name__ == "__main__":
    layer = Norm(5).init(np.random.default_rng(0))
    print(layer.backward(layer.forward(np.ones((7, 5), np.float32))).weight.shape)
