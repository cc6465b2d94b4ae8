"""An affine map of rows."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from typednn import Array1, Array2, Gradient, Kept, Layer, Parameter, S


@dataclass(frozen=True)
class AffineGrad(Gradient):
    input: Float[Array2, "batch in_features"]
    weight: Float[Array2, "out_features in_features"]
    bias: Float[Array1, " out_features"]


class Affine(Layer[Array2, Array2, AffineGrad, S]):
    weight: Parameter[Float[Array2, "{self.out_features} {self.in_features}"]]
    bias: Parameter[Float[Array1, " {self.out_features}"]]
    _x: Kept[Float[Array2, "batch {self.in_features}"]]

    def __init__(self, in_features: int, out_features: int) -> None:
        self.in_features, self.out_features = in_features, out_features

    def forward(self, x: Float[Array2, "batch {self.in_features}"]) -> Float[Array2, "batch {self.out_features}"]:
        self._x = x
        return x @ self.weight.T + self.bias

    def backward(self, next_grad: Float[Array2, "batch {self.out_features}"]) -> AffineGrad:
        return AffineGrad(next_grad @ self.weight, next_grad.T @ self._x, next_grad.sum(axis=0))


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    layer = Affine(5, 3).init(rng)
    print(layer.backward(layer.forward(rng.standard_normal((7, 5), dtype=np.float32))).weight.shape)
