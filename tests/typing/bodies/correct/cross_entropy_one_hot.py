"""Cross entropy against one-hot rows."""

import numpy as np
from jaxtyping import Float, Integer

from typednn import Array2, IntArray1, Loss


class CrossEntropy(Loss[Array2, IntArray1]):
    def loss(self, prediction: Float[Array2, "batch classes"], target: Integer[IntArray1, " batch"]) -> float:
        return float(-np.log(prediction[np.arange(len(target)), target]).mean())

    def loss_grad(self, prediction: Float[Array2, "batch classes"], target: Integer[IntArray1, " batch"]) -> Float[Array2, "batch classes"]:
        one_hot = np.eye(prediction.shape[1], dtype=np.float32)[target]
        return -one_hot / prediction / len(target)


if __name__ == "__main__":
    print(CrossEntropy().loss_grad(np.ones((7, 5), np.float32), np.array([0, 1, 2, 3, 4, 0, 1])).shape)
