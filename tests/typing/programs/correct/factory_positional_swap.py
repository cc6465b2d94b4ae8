"""An autoencoder of two functions that take their sizes by position."""

from typing import Any

import numpy as np

from typednn import Array2, Layer
from typednn.layers import Linear, Sigmoid, Tanh
from typednn.losses import MSE


def encoder(pixels: int, code: int) -> Layer[Array2, Array2, Any]:
    return Linear(pixels, 4 * code) >> Tanh() >> Linear(4 * code, code)


def decoder(code: int, pixels: int) -> Layer[Array2, Array2, Any]:
    return Linear(code, 4 * code) >> Tanh() >> Linear(4 * code, pixels) >> Sigmoid()


def autoencoder(pixels: int, code: int) -> Layer[Array2, Array2, Any]:
    down = encoder(pixels, code)
    up = decoder(code, pixels)
    return down >> up


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model = autoencoder(784, 32).init(rng)
    images = rng.random((4, 784)).astype(np.float32)
    print(MSE().loss(model.forward(images), images))
