"""Weights and biases in two lists, read together: the last bias is as long as the one before."""

import numpy as np
from jaxtyping import Float

from typednn import Array2


class Net:
    def __init__(self) -> None:
        self.weights = [np.ones((4, 5)), np.ones((5, 6))]
        self.biases = [np.zeros(5), np.zeros(5)]

    def forward(self, x: Float[Array2, "batch 4"]) -> Float[Array2, "batch 6"]:
        for weight, bias in zip(self.weights, self.biases, strict=True):
            x = x @ weight + bias  # shape: 6 5
        return x


if __name__ == "__main__":
    print(Net().forward(np.ones((3, 4))).shape)
