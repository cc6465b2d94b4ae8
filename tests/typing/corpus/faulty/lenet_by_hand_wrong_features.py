"""LeNet5 as a Layer of one's own; the first affine map reads 256 features where 400 come."""

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
    fc1: LinearGrad
    fc2: LinearGrad


@final
class LeNet(Layer[Array4, Array2, LeNetGrad, S]):
    def __init__(self) -> None:
        self.pad = Pad2d(2)
        self.conv1 = Conv2d(1, 6, 5)
        self.relu1 = ReLU()
        self.pool1 = MaxPool2d(2)
        self.conv2 = Conv2d(6, 16, 5)
        self.relu2 = ReLU()
        self.pool2 = MaxPool2d(2)
        self.flatten = Flatten()
        self.fc1 = Linear(256, 120)
        self.relu3 = ReLU()
        self.fc2 = Linear(120, 10)

    def forward(self, x: Float[Array4, "batch 28 28 1"]) -> Float[Array2, "batch 10"]:
        images = self.pad.forward(x)
        images = self.pool1.forward(self.relu1.forward(self.conv1.forward(images)))
        images = self.pool2.forward(self.relu2.forward(self.conv2.forward(images)))
        features = self.flatten.forward(images)
        features = self.relu3.forward(self.fc1.forward(features))  # shape: expects 256 features, gets 400
        return self.fc2.forward(features)

    def backward(self, next_grad: Float[Array2, "batch 10"]) -> LeNetGrad:
        fc2 = self.fc2.backward(next_grad)
        fc1 = self.fc1.backward(self.relu3.backward(fc2.input).input)
        images = self.flatten.backward(fc1.input).input
        conv2 = self.conv2.backward(self.relu2.backward(self.pool2.backward(images).input).input)
        conv1 = self.conv1.backward(self.relu1.backward(self.pool1.backward(conv2.input).input).input)
        return LeNetGrad(self.pad.backward(conv1.input).input, conv1, conv2, fc1, fc2)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    LeNet().init(rng).forward(rng.standard_normal((2, 28, 28, 1)).astype(np.float32))
