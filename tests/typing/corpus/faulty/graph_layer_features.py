"""The annotations of a formula are the layer's contract: what comes before it must give as many features."""

from dataclasses import dataclass
from typing import final

from jaxtyping import Float

from typednn import Array1, Array2, Gradient, GraphElementwise, GraphLayer, Input, Parameter, S
from typednn.graph.tensor import AnyTensor, Tensor2
from typednn.layers import Linear


@final
@dataclass(frozen=True, slots=True)
class ScaleGrad(Gradient):
    """The loss's derivative by the input and by the weight."""

    input: Float[Array2, "batch features"]
    weight: Float[Array1, " features"]


@final
class Scale(GraphLayer[Array2, Array2, ScaleGrad, S]):
    """weight · x."""

    weight: Parameter[Float[Array1, " {self.features}"]]

    def __init__(self, features: int) -> None:
        self.features = features

    def formula(self, x: Float[Tensor2, "batch {self.features}"]) -> Float[Tensor2, "batch {self.features}"]:
        return x * self.weight


@final
class Softsign(GraphElementwise[None]):
    """x/(1 + |x|)."""

    def formula(self, x: Float[AnyTensor, "*shape"]) -> Float[AnyTensor, "*shape"]:
        return x / (1.0 + abs(x))


model = Input(4) >> Linear(4, 6) >> Softsign() >> Scale(8)  # shape: expects 8 features, gets 6
