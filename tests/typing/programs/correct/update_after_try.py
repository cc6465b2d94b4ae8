"""Two models learn by turns, in a step with try and finally."""

import numpy as np
from jaxtyping import Float

from typednn import Array2, checking
from typednn.layers import Linear
from typednn.losses import BCEWithLogits
from typednn.optim import Adam

rng = np.random.default_rng(0)
generator = Linear(4, 16, rng=rng)
critic = Linear(16, 1, rng=rng)
optimizer = Adam(lr=0.001)


def step(noise: Float[Array2, "batch 4"]) -> float:
    loss = BCEWithLogits()
    generator.train()
    try:
        with checking("full"):
            scores = critic.forward(generator.forward(noise))
            d_critic = critic.backward(loss.loss_grad(scores, np.ones_like(scores)))
            d_generator = generator.backward(d_critic.input)
            generator.update(optimizer, d_generator)
    finally:
        generator.eval()
    return loss.loss(scores, np.ones_like(scores))


if __name__ == "__main__":
    print(step(np.ones((3, 4), np.float32)))
