"""A training step gives rows of 748 numbers to a model of 784."""

import numpy as np
from jaxtyping import Float

from typednn import Array2, Input
from typednn.layers import Linear, ReLU

model = Input(784) >> Linear(784, 32) >> ReLU() >> Linear(32, 10)


def predict(images: Float[Array2, "batch 748"]) -> Float[Array2, "batch 10"]:
    return model.forward(images)  # shape: 748


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model.init(rng)
    predict(rng.random((2, 748)).astype(np.float32))
