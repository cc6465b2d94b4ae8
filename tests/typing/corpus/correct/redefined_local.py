"""One local name for arrays of different sizes, as in most forwards."""

import numpy as np
from jaxtyping import Float

from typednn import Array2, Array4
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, ReLU

rng = np.random.default_rng(0)
conv1, conv2 = Conv2d(1, 4, 3, rng=rng), Conv2d(4, 8, 3, rng=rng)
fc1, fc2, relu, pool, flatten = Linear(200, 16, rng=rng), Linear(16, 3, rng=rng), ReLU(), MaxPool2d(2), Flatten()


def forward(x: Float[Array4, "batch 14 14 1"]) -> Float[Array2, "batch 3"]:
    h = conv1(x)
    h = conv2(h)
    h = pool(relu(h))
    y = flatten(h)
    y = fc1(y)
    y = relu(y)
    y = fc2(y)
    x = conv1(x)
    x = conv2(x)
    return y


if __name__ == "__main__":
    print(forward(rng.standard_normal((2, 14, 14, 1)).astype(np.float32)).shape)
