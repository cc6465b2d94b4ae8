"""A Stack, the class behind configs: rows in, rows out, shapes between."""

import numpy as np
from jaxtyping import Float

from typednn import Array2, Stack
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, ReLU

model = Stack([Conv2d(1, 2, 5), ReLU(), MaxPool2d(2), Flatten(), Linear(288, 10)], input=(28, 28, 1))
images = Stack({"conv": Conv2d(1, 2, 5), "relu": ReLU()}, input=(9, 9, 1))


def forward(x: Float[Array2, "batch 784"]) -> Float[Array2, "batch 10"]:
    return model.forward(x)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model.init(rng)
    images.init(rng)
    print(forward(np.ones((2, 784), np.float32)).shape, images.forward(np.ones((2, 81), np.float32)).shape)
