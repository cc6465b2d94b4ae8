"""LeNet by hand hands its second convolution's gradient to the first, and the first's to the second."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from typednn import Array2, Array4, Gradient, Layer, S
from typednn.layers import Conv2d, Conv2dGrad, Flatten, Linear, LinearGrad, MaxPool2d
from typednn.optim import SGD


@dataclass(frozen=True)
class LeNetGrad(Gradient):
    input: Float[Array4, "batch 28 28 1"]
    conv1: Conv2dGrad
    conv2: Conv2dGrad
    fc: LinearGrad


class LeNet(Layer[Array4, Array2, LeNetGrad, S]):
    def __init__(self) -> None:
        self.conv1, self.pool1 = Conv2d(1, 6, 5), MaxPool2d(2)
        self.conv2, self.pool2 = Conv2d(6, 16, 5), MaxPool2d(2)
        self.flatten = Flatten()
        self.fc = Linear(256, 10)

    def forward(self, x: Float[Array4, "batch 28 28 1"]) -> Float[Array2, "batch 10"]:
        small = self.pool1(self.conv1(x))
        smaller = self.pool2(self.conv2(small))
        return self.fc(self.flatten(smaller))

    def backward(self, next_grad: Float[Array2, "batch 10"]) -> LeNetGrad:
        fc = self.fc.backward(next_grad)
        conv2 = self.conv2.backward(self.pool2.backward(self.flatten.backward(fc.input).input).input)
        conv1 = self.conv1.backward(self.pool1.backward(conv2.input).input)
        return LeNetGrad(conv1.input, conv1=conv2, conv2=conv1, fc=fc)  # shape: conv1


if __name__ == "__main__":
    net = LeNet().init(np.random.default_rng(0))
    net.update(SGD(lr=0.1), net.backward(net.forward(np.ones((3, 28, 28, 1), np.float32))))
