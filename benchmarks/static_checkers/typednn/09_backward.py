"""Backward by hand: the gradient skips a layer."""

from dataclasses import dataclass

from jaxtyping import Float

from typednn import Array2, Gradient, Layer, S
from typednn.layers import Linear, ReLU
from typednn.layers.linear import LinearGrad


@dataclass(frozen=True)
class NetGrad(Gradient):
    """One field for each layer that learns."""

    input: Float[Array2, "batch 784"]
    fc1: LinearGrad
    fc2: LinearGrad


class Net(Layer[Array2, Array2, NetGrad, S]):
    """Two affine maps."""

    def __init__(self) -> None:
        self.fc1, self.relu, self.fc2 = Linear(784, 128), ReLU(), Linear(128, 10)

    def forward(self, x: Float[Array2, "batch 784"]) -> Float[Array2, "batch 10"]:
        return self.fc2.forward(self.relu.forward(self.fc1.forward(x)))

    def backward(self, next_grad: Float[Array2, "batch 10"]) -> NetGrad:
        fc2 = self.fc2.backward(next_grad)
        fc1 = self.fc1.backward(self.relu.backward(next_grad).input)  # right: fc1 = self.fc1.backward(self.relu.backward(fc2.input).input)
        return NetGrad(fc1.input, fc1, fc2)


model = Net()
