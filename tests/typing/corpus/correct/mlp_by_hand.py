"""An MLP as a Layer with a hidden size that the constructor takes."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from typednn import Array2, Gradient, Layer, S
from typednn.layers import Linear, LinearGrad, Tanh


@dataclass(frozen=True)
class MLPGrad(Gradient):
    input: Float[Array2, "batch in_features"]
    first: LinearGrad
    second: LinearGrad


class MLP(Layer[Array2, Array2, MLPGrad, S]):
    def __init__(self, in_features: int, hidden: int, classes: int = 10) -> None:
        self.in_features, self.classes = in_features, classes
        self.first = Linear(in_features, hidden)
        self.tanh = Tanh()
        self.second = Linear(hidden, classes)

    def forward(self, x: Float[Array2, "batch {self.in_features}"]) -> Float[Array2, "batch {self.classes}"]:
        return self.second(self.tanh(self.first(x)))

    def backward(self, next_grad: Float[Array2, "batch {self.classes}"]) -> MLPGrad:
        second = self.second.backward(next_grad)
        first = self.first.backward(self.tanh.backward(second.input).input)
        return MLPGrad(first.input, first, second)


model = Linear(20, 30) >> MLP(30, 64) >> Linear(10, 2)

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model.init(rng)
    print(model.forward(rng.standard_normal((3, 20)).astype(np.float32)).shape)
