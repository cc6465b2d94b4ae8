"""A squared error with a weight for each output."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from typednn import Array1, Array2, Loss


@dataclass(frozen=True)
class Weighted(Loss[Array2, Array2]):
    weights: Float[Array1, "5"]

    def loss(self, prediction: Float[Array2, "batch 5"], target: Float[Array2, "batch 5"]) -> float:
        return float(((prediction - target) ** 2 * self.weights).mean())

    def loss_grad(self, prediction: Float[Array2, "batch 5"], target: Float[Array2, "batch 5"]) -> Float[Array2, "batch 5"]:
        difference = prediction - target
        return 2.0 * difference * self.weights[None, :] / prediction.size


if __name__ == "__main__":
    print(Weighted(np.ones(5, np.float32)).loss_grad(np.ones((7, 5), np.float32), np.zeros((7, 5), np.float32)).shape)
