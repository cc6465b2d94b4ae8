"""LeNet5 as two functions over layers of the module; the second is given the first's images unpooled."""

import numpy as np
from jaxtyping import Float

from typednn import Array2, Array4
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, Pad2d, ReLU

rng = np.random.default_rng(0)
pad, relu, pool, flatten = Pad2d(2), ReLU(), MaxPool2d(2), Flatten()
conv1, conv2 = Conv2d(1, 6, 5, rng=rng), Conv2d(6, 16, 5, rng=rng)
fc1, fc2 = Linear(400, 120, rng=rng), Linear(120, 10, rng=rng)


def first_half(x: Float[Array4, "batch 28 28 1"]) -> Float[Array4, "batch 28 28 6"]:
    return relu(conv1(pad(x)))


def second_half(x: Float[Array4, "batch 14 14 6"]) -> Float[Array2, "batch 10"]:
    h = pool(relu(conv2(x)))
    return fc2(relu(fc1(flatten(h))))


def lenet(x: Float[Array4, "batch 28 28 1"]) -> Float[Array2, "batch 10"]:
    return second_half(first_half(x))  # shape: 28


if __name__ == "__main__":
    lenet(rng.standard_normal((2, 28, 28, 1)).astype(np.float32))
