"""A projection without bias."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from typednn import Array2, Gradient, Kept, Layer, Parameter, S


@dataclass(frozen=True)
class ProjectGrad(Gradient):
    input: Float[Array2, "batch in_features"]
    weight: Float[Array2, "out_features in_features"]


class Project(Layer[Array2, Array2, ProjectGrad, S]):
    weight: Parameter[Float[Array2, "{self.out_features} {self.in_features}"]]
    _x: Kept[Float[Array2, "batch {self.in_features}"]]

    def __init__(self, in_features: int, out_features: int) -> None:
        self.in_features, self.out_features = in_features, out_features

    def forward(self, x: Float[Array2, "batch {self.in_features}"]) -> Float[Array2, "batch {self.out_features}"]:
        self._x = x
        return x @ self.weight.T

    def backward(self, next_grad: Float[Array2, "batch {self.out_features}"]) -> ProjectGrad:
        dweight = self._x.T @ next_grad
        return ProjectGrad(next_grad @ self.weight, dweight.T)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    layer = Project(11, 3).init(rng)
    print(layer.backward(layer.forward(rng.standard_normal((7, 11), dtype=np.float32))).weight.shape)
