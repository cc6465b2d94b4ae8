"""A layer of one's own whose annotation names three axes of an array of two."""

from dataclasses import dataclass

from jaxtyping import Float

from typednn import Array2, Gradient, Layer, S


@dataclass(frozen=True)
class RowsGrad(Gradient):
    input: Float[Array2, "batch features"]


class Doubled(Layer[Array2, Array2, RowsGrad, S]):
    def forward(self, x: Float[Array2, "batch time features"]) -> Float[Array2, "batch features"]:  # shape: Array2 promises 2 axes, got 3
        return x * 2.0

    def backward(self, next_grad: Float[Array2, "batch features"]) -> RowsGrad:
        return RowsGrad(next_grad * 2.0)
