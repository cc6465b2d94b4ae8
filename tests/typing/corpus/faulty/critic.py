"""A generator of 28 x 28 pixels and a critic that reads 32 x 32."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import LeakyReLU, Linear, Tanh

rng = np.random.default_rng(0)
generator = (Linear(16, 64) >> LeakyReLU() >> Linear(64, 784) >> Tanh()).init(rng)
critic = (Linear(32 * 32, 64) >> LeakyReLU() >> Linear(64, 1)).init(rng)


def generate(noise: Float[Array2, "batch 16"]) -> Float[Array2, "batch 784"]:
    return generator.forward(noise)


def fooled(noise: Float[Array2, "batch 16"]) -> Float[Array2, "batch 1"]:
    images = generate(noise)
    return critic.forward(images)  # shape: expects 1024 features, gets 784


if __name__ == "__main__":
    fooled(np.ones((2, 16), np.float32))
