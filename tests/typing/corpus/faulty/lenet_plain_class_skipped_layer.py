"""A LeNet5 as a plain class; its middle affine map is skipped, so that 120 features meet Linear(84, 10)."""

import numpy as np
from jaxtyping import Float

from typednn import Array2, Array4
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, Pad2d, ReLU
from typednn.random import Rng


class LeNet:
    def __init__(self, rng: Rng) -> None:
        self.pad = Pad2d(2)
        self.conv1 = Conv2d(1, 6, 5, rng=rng)
        self.conv2 = Conv2d(6, 16, 5, rng=rng)
        self.pool = MaxPool2d(2)
        self.flatten = Flatten()
        self.fc1 = Linear(400, 120, rng=rng)
        self.fc2 = Linear(120, 84, rng=rng)
        self.fc3 = Linear(84, 10, rng=rng)
        self.relu = ReLU()

    def __call__(self, x: Float[Array4, "batch 28 28 1"]) -> Float[Array2, "batch 10"]:
        h = self.pad(x)
        h = self.pool(self.relu(self.conv1(h)))
        h = self.pool(self.relu(self.conv2(h)))
        rows = self.relu(self.fc1(self.flatten(h)))
        return self.fc3(rows)  # shape: expects 84 features, gets 120


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    LeNet(rng)(rng.standard_normal((2, 28, 28, 1)).astype(np.float32))
