"""A GAN as a dataclass, given its two networks."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from typednn import Array2, Layer
from typednn.layers import LeakyReLU, Linear, Tanh
from typednn.losses import BCEWithLogits


@dataclass
class GAN:
    generator: Layer[Array2, Array2, Any]
    critic: Layer[Array2, Array2, Any]
    noise: int

    def fooled(self, noise: Float[Array2, "batch {self.noise}"]) -> float:
        images = self.generator.forward(noise)
        scores = self.critic.forward(images)
        return BCEWithLogits().loss(scores, np.ones_like(scores))


def build(pixels: int) -> GAN:
    generator = Linear(10, 40) >> LeakyReLU() >> Linear(40, pixels) >> Tanh()
    critic = Linear(pixels, 40) >> LeakyReLU() >> Linear(40, 1)
    return GAN(generator, critic, noise=10)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    gan = build(pixels=12 * 12)
    gan.generator.init(rng)
    gan.critic.init(rng)
    print(gan.fooled(rng.standard_normal((4, 10)).astype(np.float32)))
