"""A variational encoder that gives a tuple, a NamedTuple around it, and a decoder."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear, ReLU

rng = np.random.default_rng(0)
body = (Linear(30, 20) >> ReLU()).init(rng)
mean, log_variance, decoder = Linear(20, 4, rng=rng), Linear(20, 4, rng=rng), Linear(4, 30, rng=rng)


class Coded(NamedTuple):
    code: Float[Array2, "batch 4"]
    image: Float[Array2, "batch 30"]


def encode(x: Float[Array2, "batch 30"]) -> tuple[Float[Array2, "batch 4"], Float[Array2, "batch 4"]]:
    h = body.forward(x)
    return mean.forward(h), log_variance.forward(h)


def run(x: Float[Array2, "batch 30"]) -> Coded:
    m, v = encode(x)
    noise = rng.standard_normal(m.shape).astype(np.float32)
    code = m + np.exp(0.5 * v) * noise
    pair = (code, decoder.forward(code))
    return Coded(*pair)


if __name__ == "__main__":
    coded = run(np.ones((2, 30), np.float32))
    print(coded.code.shape, coded.image.shape)
