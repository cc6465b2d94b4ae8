"""Wrong arithmetic inside a layer: the weight should have been transposed."""

from dataclasses import dataclass
from typing import final

from jaxtyping import Float

from typednn import Array2, Gradient, Kept, Layer, Parameter, S


@final
@dataclass(frozen=True, slots=True)
class ProjectGrad(Gradient):
    """The loss's derivative by each quantity, under that quantity's own name."""

    input: Float[Array2, "batch inputs"]
    weight: Float[Array2, "outputs inputs"]


@final
class Project(Layer[Array2, Array2, ProjectGrad, S]):
    """A product with a matrix."""

    weight: Parameter[Float[Array2, "{self.outputs} {self.inputs}"]]
    _x: Kept[Float[Array2, "batch {self.inputs}"]]

    def __init__(self, inputs: int, outputs: int) -> None:
        self.inputs, self.outputs = inputs, outputs

    def forward(self, x: Float[Array2, "batch {self.inputs}"]) -> Float[Array2, "batch {self.outputs}"]:
        self._x = x
        return x @ self.weight  # right: return x @ self.weight.T

    def backward(self, next_grad: Float[Array2, "batch {self.outputs}"]) -> ProjectGrad:
        return ProjectGrad(next_grad @ self.weight, next_grad.T @ self._x)


model = Project(8, 4) >> Project(4, 2)
