"""An autoencoder from two chains, and its loss against its own input."""

import numpy as np

from typednn import Input
from typednn.layers import Linear, ReLU, Sigmoid
from typednn.losses import MSE
from typednn.optim import Adam

CODE = 32

encoder = Linear(784, 256) >> ReLU() >> Linear(256, CODE)
decoder = Linear(CODE, 256) >> ReLU() >> Linear(256, 784) >> Sigmoid()
model = Input(784) >> encoder >> decoder

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model.init(rng)
    images = rng.random((8, 784)).astype(np.float32)
    loss = MSE()
    grad = model.backward(loss.loss_grad(model.forward(images), images))
    model.update(Adam(lr=1e-3), grad)
