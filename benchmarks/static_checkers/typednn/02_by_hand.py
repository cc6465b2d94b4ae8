"""The same LeNet5, written by hand."""

from dataclasses import dataclass

from jaxtyping import Float

from typednn import Array2, Array4, Gradient, Layer, S
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, ReLU
from typednn.layers.conv2d import Conv2dGrad
from typednn.layers.linear import LinearGrad


@dataclass(frozen=True)
class NetGrad(Gradient):
    """One field for each layer that learns."""

    input: Float[Array4, "batch 32 32 1"]
    conv1: Conv2dGrad
    conv2: Conv2dGrad
    fc1: LinearGrad
    fc2: LinearGrad


class Net(Layer[Array4, Array2, NetGrad, S]):
    """Two convolutions, two affine maps."""

    def __init__(self) -> None:
        self.conv1, self.relu1, self.pool1 = Conv2d(1, 6, 5), ReLU(), MaxPool2d(2)
        self.conv2, self.relu2, self.pool2 = Conv2d(6, 16, 5), ReLU(), MaxPool2d(2)
        self.flatten, self.relu3 = Flatten(), ReLU()
        self.fc1 = Linear(256, 120)  # right: self.fc1 = Linear(400, 120)
        self.fc2 = Linear(120, 10)

    def forward(self, x: Float[Array4, "batch 32 32 1"]) -> Float[Array2, "batch 10"]:
        images = self.pool1.forward(self.relu1.forward(self.conv1.forward(x)))
        images = self.pool2.forward(self.relu2.forward(self.conv2.forward(images)))
        rows = self.flatten.forward(images)
        rows = self.fc1.forward(rows)
        return self.fc2.forward(self.relu3.forward(rows))

    def backward(self, next_grad: Float[Array2, "batch 10"]) -> NetGrad:
        fc2 = self.fc2.backward(next_grad)
        fc1 = self.fc1.backward(self.relu3.backward(fc2.input).input)
        images = self.flatten.backward(fc1.input).input
        conv2 = self.conv2.backward(self.relu2.backward(self.pool2.backward(images).input).input)
        conv1 = self.conv1.backward(self.relu1.backward(self.pool1.backward(conv2.input).input).input)
        return NetGrad(conv1.input, conv1, conv2, fc1, fc2)


model = Net()
