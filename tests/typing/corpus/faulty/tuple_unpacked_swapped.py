"""A variational encoder gives (mean, features) in a tuple; the decoder gets the wrong one of the two."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear, ReLU

rng = np.random.default_rng(0)
body = (Linear(30, 20) >> ReLU()).init(rng)
mean, decoder = Linear(20, 4, rng=rng), Linear(4, 30, rng=rng)


def encode(x: Float[Array2, "batch 30"]) -> tuple[Float[Array2, "batch 4"], Float[Array2, "batch 20"]]:
    h = body.forward(x)
    return mean.forward(h), h


def run(x: Float[Array2, "batch 30"]) -> Float[Array2, "batch 30"]:
    _, code = encode(x)
    return decoder.forward(code)  # shape: expects 4 features, gets 20


if __name__ == "__main__":
    run(np.ones((2, 30), np.float32))
