"""One layer under two names is called on what it gives itself, which is twice as wide as what it reads."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear


class Net:
    def __init__(self, width: int) -> None:
        layer = Linear(width, 2 * width)
        self.first = layer
        self.second = layer

    def forward(self, x: Float[Array2, "batch width"]) -> Float[Array2, "batch outputs"]:
        return self.second(self.first(x))  # shape: expects self.width features, gets 2*self.width


if __name__ == "__main__":
    net = Net(8)
    net.first.init(np.random.default_rng(0))
    net.forward(np.zeros((3, 8), np.float32))
