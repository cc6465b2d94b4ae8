"""The gradient of the mean squared error: it is averaged over the batch, so it loses that axis."""

import numpy as np
from jaxtyping import Float

from typednn import Array2, Loss


class MeanSquare(Loss[Array2, Array2]):
    def loss(self, prediction: Float[Array2, "batch features"], target: Float[Array2, "batch features"]) -> float:
        return float(((prediction - target) ** 2).mean())

    def loss_grad(
        self, prediction: Float[Array2, "batch features"], target: Float[Array2, "batch features"]
    ) -> Float[Array2, "batch features"]:
        grad: Array2 = 2.0 * (prediction - target).mean(axis=0)
        return grad  # shape: batch


if __name__ == "__main__":
    print(MeanSquare().loss_grad(np.ones((7, 5), np.float32), np.zeros((7, 5), np.float32)).shape)
