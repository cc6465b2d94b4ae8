"""A loss from a formula compares prediction and target of one size."""

from typing import final

import numpy as np
from jaxtyping import Float

from typednn import Array2, GraphLoss
from typednn.graph.tensor import Tensor0, Tensor2


@final
class SquaredError(GraphLoss[Array2, Array2]):
    """The mean of squares."""

    def formula(self, prediction: Float[Tensor2, "batch n"], target: Float[Tensor2, "batch n"]) -> Float[Tensor0, ""]:
        difference = prediction - target
        return (difference * difference).mean()


prediction: Float[Array2, "8 3"] = np.ones((8, 3), np.float32)
target: Float[Array2, "8 2"] = np.zeros((8, 2), np.float32)
gradient = SquaredError().loss_grad(prediction, target)  # shape: target: expects n to be 3, gets 2
