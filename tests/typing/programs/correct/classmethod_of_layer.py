"""A dataclass of layers, made by a class method from three sizes."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear, Tanh
from typednn.random import Rng


@dataclass
class Autoencoder:
    squeeze: Linear
    encode: Linear
    decode: Linear
    tanh: Tanh

    @classmethod
    def create(cls, pixels: int, hidden: int, code: int, rng: Rng) -> Self:
        squeeze = Linear(pixels, hidden, rng=rng)
        encode = Linear(hidden, code, rng=rng)
        decode = Linear(code, pixels, rng=rng)
        return cls(squeeze, encode, decode, Tanh())

    def forward(self, x: Float[Array2, "batch pixels"]) -> Float[Array2, "batch pixels"]:
        code = self.encode.forward(self.tanh.forward(self.squeeze.forward(x)))
        return self.decode.forward(code)


if __name__ == "__main__":
    model = Autoencoder.create(100, 20, 4, np.random.default_rng(0))
    print(model.forward(np.zeros((2, 100), np.float32)).shape)
