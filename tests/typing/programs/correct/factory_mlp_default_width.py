"""A factory with a default width, called with and without it, and a few steps of training."""

from typing import Any

import numpy as np

from typednn import Array2, Input, Layer
from typednn.layers import Linear, ReLU
from typednn.losses import SoftmaxCrossEntropy
from typednn.optim import SGD


def hidden(features: int, width: int = 64) -> Layer[Array2, Array2, Any]:
    return Linear(features, width) >> ReLU() >> Linear(width, width) >> ReLU()


def classifier() -> Layer[Array2, Array2, Any]:
    wide = hidden(784, width=128)
    narrow = hidden(128)
    return Input(784) >> wide >> narrow >> Linear(64, 10)


def main() -> None:
    rng = np.random.default_rng(0)
    model = classifier().init(rng)
    loss, optimizer = SoftmaxCrossEntropy(), SGD(lr=0.1)
    x = rng.standard_normal((8, 784)).astype(np.float32)
    labels = rng.integers(0, 10, 8)
    for _ in range(3):
        scores = model.forward(x)
        model.update(optimizer, model.backward(loss.loss_grad(scores, labels)))


if __name__ == "__main__":
    main()
