"""Each token's scores are compared with the labels of one token more."""

import numpy as np
from jaxtyping import Float, Integer

from typednn import Array3, IntArray2
from typednn.layers import SequenceLinear
from typednn.losses import SoftmaxCrossEntropy

head = SequenceLinear(16, 50)
loss = SoftmaxCrossEntropy()


def step(tokens: Float[Array3, "batch 7 16"], labels: Integer[IntArray2, "batch 8"]) -> float:
    return loss.loss(head.forward(tokens), labels)  # shape: 8


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    head.init(rng)
    step(rng.random((2, 7, 16)).astype(np.float32), rng.integers(0, 50, (2, 8)))
