"""LeNet5 by hand; the second pooling exists and is never called."""

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float

from typednn import Array2, Array4, Gradient, Layer, S
from typednn.layers import Conv2d, Conv2dGrad, Flatten, Linear, LinearGrad, MaxPool2d, Pad2d, ReLU


@final
@dataclass(frozen=True, slots=True)
class LeNetGrad(Gradient):
    input: Float[Array4, "batch 28 28 1"]
    conv1: Conv2dGrad
    conv2: Conv2dGrad
    fc: LinearGrad


@final
class LeNet(Layer[Array4, Array2, LeNetGrad, S]):
    def __init__(self) -> None:
        self.pad = Pad2d(2)
        self.conv1, self.relu1, self.pool1 = Conv2d(1, 6, 5), ReLU(), MaxPool2d(2)
        self.conv2, self.relu2, self.pool2 = Conv2d(6, 16, 5), ReLU(), MaxPool2d(2)
        self.flatten = Flatten()
        self.fc = Linear(400, 10)

    def forward(self, x: Float[Array4, "batch 28 28 1"]) -> Float[Array2, "batch 10"]:
        images = self.pool1.forward(self.relu1.forward(self.conv1.forward(self.pad.forward(x))))
        images = self.relu2.forward(self.conv2.forward(images))
        features = self.flatten.forward(images)
        return self.fc.forward(features)  # shape: expects 400 features, gets 1600

    def backward(self, next_grad: Float[Array2, "batch 10"]) -> LeNetGrad:
        fc = self.fc.backward(next_grad)
        images = self.flatten.backward(fc.input).input
        conv2 = self.conv2.backward(self.relu2.backward(images).input)
        conv1 = self.conv1.backward(self.relu1.backward(self.pool1.backward(conv2.input).input).input)
        return LeNetGrad(self.pad.backward(conv1.input).input, conv1, conv2, fc)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    LeNet().init(rng).forward(rng.standard_normal((2, 28, 28, 1)).astype(np.float32))
