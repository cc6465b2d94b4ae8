"""An autoencoder as a Layer of two chains, with the chains' own gradients."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from typednn import Array2, ChainGrad, Gradient, Layer, S
from typednn.layers import Linear, ReLU, Sigmoid


@dataclass(frozen=True)
class AutoencoderGrad(Gradient):
    input: Float[Array2, "batch pixels"]
    encoder: ChainGrad[Any, *tuple[Any, ...]]
    decoder: ChainGrad[Any, *tuple[Any, ...]]


class Autoencoder(Layer[Array2, Array2, AutoencoderGrad, S]):
    def __init__(self, pixels: int, code: int) -> None:
        self.pixels = pixels
        self.encoder = Linear(pixels, 2 * code) >> ReLU() >> Linear(2 * code, code)
        self.decoder = Linear(code, 2 * code) >> ReLU() >> Linear(2 * code, pixels) >> Sigmoid()

    def forward(self, x: Float[Array2, "batch {self.pixels}"]) -> Float[Array2, "batch {self.pixels}"]:
        code = self.encoder(x)
        return self.decoder(code)

    def backward(self, next_grad: Float[Array2, "batch {self.pixels}"]) -> AutoencoderGrad:
        decoder = self.decoder.backward(next_grad)
        encoder = self.encoder.backward(decoder.input)
        return AutoencoderGrad(encoder.input, encoder, decoder)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model = Autoencoder(49, 5).init(rng)
    images = rng.random((8, 49)).astype(np.float32)
    print(model.backward(model.forward(images) - images).input.shape)
