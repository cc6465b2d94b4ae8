"""A frozen matrix with a low-rank adapter."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from typednn import Array2, Gradient, Kept, Layer, Parameter, S


@dataclass(frozen=True)
class AdapterGrad(Gradient):
    input: Float[Array2, "batch features"]
    down: Float[Array2, "rank features"]
    up: Float[Array2, "features rank"]


class Adapter(Layer[Array2, Array2, AdapterGrad, S]):
    down: Parameter[Float[Array2, "{self.rank} {self.features}"]]
    up: Parameter[Float[Array2, "{self.features} {self.rank}"]]
    _x: Kept[Float[Array2, "batch {self.features}"]]
    _low: Kept[Float[Array2, "batch {self.rank}"]]

    def __init__(self, features: int, rank: int) -> None:
        self.features, self.rank = features, rank

    def forward(self, x: Float[Array2, "batch {self.features}"]) -> Float[Array2, "batch {self.features}"]:
        self._x, self._low = x, x @ self.down.T
        return x + self._low @ self.up.T

    def backward(self, next_grad: Float[Array2, "batch {self.features}"]) -> AdapterGrad:
        dlow = next_grad @ self.up
        ddown, dup = dlow.T @ self._x, next_grad.T @ self._low
        return AdapterGrad(next_grad + dlow @ self.down, ddown, dup)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    layer = Adapter(13, 3).init(rng)
    print(layer.backward(layer.forward(rng.standard_normal((7, 13), dtype=np.float32))).up.shape)
