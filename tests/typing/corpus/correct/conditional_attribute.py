"""A layer whose width is doubled on demand: after __init__ it is one of two."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from typednn import Array2, Gradient, Layer, S
from typednn.layers import Linear, LinearGrad


@dataclass(frozen=True)
class WideGrad(Gradient):
    input: Float[Array2, "batch features"]
    fc: LinearGrad


class Wide(Layer[Array2, Array2, WideGrad, S]):
    def __init__(self, features: int, width: int, *, double: bool = False) -> None:
        self.features = features
        self.width = width
        if double:
            self.width = 2 * width
        self.fc = Linear(features, self.width)

    def forward(self, x: Float[Array2, "batch {self.features}"]) -> Float[Array2, "batch {self.width}"]:
        return self.fc(x)

    def backward(self, next_grad: Float[Array2, "batch {self.width}"]) -> WideGrad:
        fc = self.fc.backward(next_grad)
        return WideGrad(fc.input, fc)


narrow = Wide(4, 8) >> Linear(8, 2)
wide = Wide(4, 8, double=True) >> Linear(16, 2)

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    x = np.ones((3, 4), np.float32)
    print(narrow.init(rng).forward(x).shape, wide.init(rng).forward(x).shape)
