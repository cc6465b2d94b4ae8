"""A model of one's own inside another: it promises 12 features, and its user reads 10."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from typednn import Array2, Gradient, Layer, S
from typednn.layers import Linear, LinearGrad, ReLU
from typednn.random import Rng


@dataclass(frozen=True)
class EncoderGrad(Gradient):
    input: Float[Array2, "batch 20"]
    fc: LinearGrad


class Encoder(Layer[Array2, Array2, EncoderGrad, S]):
    def __init__(self, rng: Rng) -> None:
        self.fc, self.relu = Linear(20, 12), ReLU()
        self.init(rng)

    def forward(self, x: Float[Array2, "batch 20"]) -> Float[Array2, "batch 12"]:
        return self.relu.forward(self.fc.forward(x))

    def backward(self, next_grad: Float[Array2, "batch 12"]) -> EncoderGrad:
        fc = self.fc.backward(self.relu.backward(next_grad).input)
        return EncoderGrad(fc.input, fc)


class Classifier:
    def __init__(self, rng: Rng) -> None:
        self.encoder = Encoder(rng)
        self.head = Linear(10, 2, rng=rng)

    def forward(self, x: Float[Array2, "batch 20"]) -> Float[Array2, "batch 2"]:
        code = self.encoder.forward(x)
        return self.head.forward(code)  # shape: expects 10 features, gets 12


if __name__ == "__main__":
    Classifier(np.random.default_rng(0)).forward(np.ones((2, 20), np.float32))
