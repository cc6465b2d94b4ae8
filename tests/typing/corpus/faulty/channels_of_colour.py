"""Colour images given to a stack that declares grey ones."""

import numpy as np
from jaxtyping import Float

from typednn import Array2, Array4, Input
from typednn.layers import Conv2d, Flatten, Linear

model = Input(8, 8, 1) >> Conv2d(1, 4, 3) >> Flatten() >> Linear(144, 10)


def predict(images: Float[Array4, "batch 8 8 3"]) -> Float[Array2, "batch 10"]:
    return model.forward(images)  # shape: 3


if __name__ == "__main__":
    model.init(np.random.default_rng(0))
    predict(np.ones((2, 8, 8, 3), np.float32))
