"""Layers and a loss that are written as formulas of the graph, stacked, called and trained."""

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float

from typednn import Array1, Array2, Gradient, GraphElementwise, GraphLayer, GraphLoss, Input, Parameter, S
from typednn.graph.tensor import AnyTensor, Tensor0, Tensor2
from typednn.layers import Linear
from typednn.optim import SGD


@final
@dataclass(frozen=True, slots=True)
class WeightedSquareGrad(Gradient):
    """The loss's derivative by the input and by the weight."""

    input: Float[Array2, "batch features"]
    weight: Float[Array1, " features"]


@final
class WeightedSquare(GraphLayer[Array2, Array2, WeightedSquareGrad, S]):
    """weight · x²."""

    weight: Parameter[Float[Array1, " {self.features}"]]

    def __init__(self, features: int) -> None:
        self.features = features

    def formula(self, x: Float[Tensor2, "batch {self.features}"]) -> Float[Tensor2, "batch {self.features}"]:
        return self.weight * x * x


@final
class Softsign(GraphElementwise[None]):
    """x/(1 + |x|)."""

    def formula(self, x: Float[AnyTensor, "*shape"]) -> Float[AnyTensor, "*shape"]:
        return x / (1.0 + abs(x))


@final
class SquaredError(GraphLoss[Array2, Array2]):
    """The mean of squares."""

    def formula(self, prediction: Float[Tensor2, "batch n"], target: Float[Tensor2, "batch n"]) -> Float[Tensor0, ""]:
        difference = prediction - target
        return (difference * difference).mean()


model = (Input(4) >> Linear(4, 6) >> Softsign() >> WeightedSquare(6) >> Linear(6, 2)).init(np.random.default_rng(0))
x: Float[Array2, "8 4"] = np.ones((8, 4), np.float32)
target: Float[Array2, "8 2"] = np.zeros((8, 2), np.float32)
loss = SquaredError()
before = loss.loss(model.forward(x), target)
gradient = model.backward(loss.loss_grad(model.forward(x), target))
weight: Float[Array1, "6"] = gradient.parts[2].weight
model.update(SGD(lr=0.1), gradient)
assert loss.loss(model.forward(x), target) < before
