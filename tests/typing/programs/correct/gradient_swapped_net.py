"""A net of two linear layers with a gradient by hand."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from typednn import Array2, Gradient, Layer, S
from typednn.layers import Linear, LinearGrad, Tanh
from typednn.optim import SGD


@dataclass(frozen=True)
class CoderGrad(Gradient):
    input: Float[Array2, "batch pixels"]
    encoder: LinearGrad
    decoder: LinearGrad


class Coder(Layer[Array2, Array2, CoderGrad, S]):
    def __init__(self, pixels: int, code: int) -> None:
        super().__init__()
        self.pixels = pixels
        self.encoder = Linear(pixels, code)
        self.tanh = Tanh()
        self.decoder = Linear(code, pixels)

    def forward(self, x: Float[Array2, "batch {self.pixels}"]) -> Float[Array2, "batch {self.pixels}"]:
        return self.decoder.forward(self.tanh.forward(self.encoder.forward(x)))

    def backward(self, next_grad: Float[Array2, "batch {self.pixels}"]) -> CoderGrad:
        decoder = self.decoder.backward(next_grad)
        encoder = self.encoder.backward(self.tanh.backward(decoder.input).input)
        return CoderGrad(encoder.input, encoder, decoder)


if __name__ == "__main__":
    coder = Coder(20, 6).init(np.random.default_rng(0))
    grad = coder.backward(coder.forward(np.ones((3, 20), np.float32)))
    coder.update(SGD(lr=0.1), grad)
