"""The layers that are this package's own."""

from dataclasses import dataclass

from jaxtyping import Float

from typednn import Array2, Gradient, Kept, Layer, S


@dataclass(frozen=True)
class CentredGrad(Gradient):
    input: Float[Array2, "batch features"]


class Centred(Layer[Array2, Array2, CentredGrad, S]):
    """Each row without its mean."""

    _width: Kept[int]

    def forward(self, x: Float[Array2, "batch features"]) -> Float[Array2, "batch features"]:
        centred: Array2 = x - x.mean(axis=1, keepdims=True)
        return centred

    def backward(self, next_grad: Float[Array2, "batch features"]) -> CentredGrad:
        return CentredGrad(next_grad - next_grad.mean(axis=1, keepdims=True))
