"""The gradient of softmax cross entropy by index arrays."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Integer

from typednn import Array2, IntArray1, Loss


@dataclass(frozen=True)
class SoftmaxCrossEntropy(Loss[Array2, IntArray1]):
    smoothing: float = 0.0

    def loss(self, prediction: Float[Array2, "batch classes"], target: Integer[IntArray1, " batch"]) -> float:
        p = self.loss_grad(prediction, target)
        return float((p * p).sum())

    def loss_grad(self, prediction: Float[Array2, "batch classes"], target: Integer[IntArray1, " batch"]) -> Float[Array2, "batch classes"]:
        e = np.exp(prediction - prediction.max(axis=1, keepdims=True))
        p: Array2 = e / e.sum(axis=1, keepdims=True)
        p[np.arange(prediction.shape[0]), target] -= 1.0 - self.smoothing
        return p / len(target)


if __name__ == "__main__":
    print(SoftmaxCrossEntropy().loss_grad(np.ones((7, 5), np.float32), np.array([0, 1, 2, 3, 4, 0, 1])).shape)
