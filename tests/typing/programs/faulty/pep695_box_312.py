"""A generic class in the new notation holds a layer for other rows than it is given."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear, Tanh
from typednn.optim import SGD


class Trained[L]:
    def __init__(self, layer: L, lr: float) -> None:
        self.layer = layer
        self.optimizer = SGD(lr=lr)


rng = np.random.default_rng(0)
encoder = Trained(Linear(28, 14, rng=rng), lr=0.1)
decoder = Trained(Linear(7, 28, rng=rng), lr=0.05)  # shape
tanh = Tanh()


def learn(x: Float[Array2, "batch 28"]) -> Float[Array2, "batch 28"]:
    y = decoder.layer.forward(tanh.forward(encoder.layer.forward(x)))  # meets
    grad = decoder.layer.backward(y - x)
    decoder.layer.update(decoder.optimizer, grad)
    encoder.layer.update(encoder.optimizer, encoder.layer.backward(tanh.backward(grad.input).input))
    return y


if __name__ == "__main__":
    print(learn(np.ones((2, 28), np.float32)).shape)
