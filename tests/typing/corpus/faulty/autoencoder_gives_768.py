"""An autoencoder by hand that gives back 768 of 784 pixels; NumPy refuses it, later."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear, ReLU, Sigmoid
from typednn.random import Rng


class Autoencoder:
    def __init__(self, rng: Rng, code: int = 32) -> None:
        self.encoder = (Linear(784, 256) >> ReLU() >> Linear(256, 32)).init(rng)
        self.decoder = (Linear(32, 256) >> ReLU() >> Linear(256, 768) >> Sigmoid()).init(rng)

    def encode(self, x: Float[Array2, "batch 784"]) -> Float[Array2, "batch 32"]:
        return self.encoder.forward(x)

    def decode(self, code: Float[Array2, "batch 32"]) -> Float[Array2, "batch 784"]:
        return self.decoder.forward(code)  # shape: 768


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    images = rng.random((8, 784)).astype(np.float32)
    model = Autoencoder(rng)
    difference = model.decode(model.encode(images)) - images
