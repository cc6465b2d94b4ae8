"""One layer in two places that it fits, a property that a subclass overrides, gradients of one layer in two fields."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from typednn import Array2, Gradient, Layer, S
from typednn.layers import Linear, LinearGrad
from typednn.optim import SGD


class Net:
    def __init__(self, width: int) -> None:
        self.width = width
        self.fc1 = Linear(4, self.inner)
        self.fc2 = Linear(3 * width, 2)

    @property
    def inner(self) -> int:
        return 2 * self.width

    def forward(self, x: Float[Array2, "batch 4"]) -> Float[Array2, "batch 2"]:
        return self.fc2(self.fc1(x))


class Wider(Net):
    @property
    def inner(self) -> int:
        return 3 * self.width


@dataclass(frozen=True)
class TwiceGrad(Gradient):
    input: Float[Array2, "batch features"]
    first: LinearGrad
    second: LinearGrad


class Twice(Layer[Array2, Array2, TwiceGrad, S]):
    """Two layers of which the constructor makes sure that they are of one size."""

    def __init__(self, width: int, hidden: int) -> None:
        if width != hidden:
            raise ValueError("both must be one size")
        self.width = width
        self.first, self.second = Linear(width, width), Linear(hidden, hidden)

    def forward(self, x: Float[Array2, "batch {self.width}"]) -> Float[Array2, "batch {self.width}"]:
        return self.second.forward(self.first.forward(x))

    def backward(self, next_grad: Float[Array2, "batch {self.width}"]) -> TwiceGrad:
        second = self.second.backward(next_grad)
        first = self.first.backward(second.input)
        return TwiceGrad(first.input, second, first)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    shared = Linear(8, 8).init(rng)
    print(shared(shared(np.zeros((3, 8), np.float32))).shape)
    net = Wider(8)
    net.fc1.init(rng)
    net.fc2.init(rng)
    print(net.forward(np.zeros((3, 4), np.float32)).shape)
    twice = Twice(4, 4).init(rng)
    grad = twice.backward(twice.forward(np.ones((3, 4), np.float32)))
    twice.update(SGD(lr=0.1), grad)
