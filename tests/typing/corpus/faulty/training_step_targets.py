"""A training step compares 10 outputs with the 784 pixels that went in."""

import numpy as np
from jaxtyping import Float

from typednn import Array2, Input
from typednn.layers import Linear, ReLU
from typednn.losses import MSE
from typednn.optim import SGD

model = Input(784) >> Linear(784, 32) >> ReLU() >> Linear(32, 10)
loss = MSE()


def step(images: Float[Array2, "batch 784"]) -> None:
    outputs = model.forward(images)
    grad = loss.loss_grad(outputs, images)  # shape: 784
    model.update(SGD(lr=0.1), model.backward(grad))


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model.init(rng)
    step(rng.random((2, 784)).astype(np.float32))
