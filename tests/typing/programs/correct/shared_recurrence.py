"""A layer that is used at each of three steps, with shared weights."""

import numpy as np
from jaxtyping import Float

from typednn import Array2, Input
from typednn.layers import Linear, Tanh

step = Linear(12, 12)
model = Input(5) >> Linear(5, 12) >> step >> Tanh() >> step.shared() >> Tanh() >> step.shared() >> Linear(12, 1)


def settle(x: Float[Array2, "batch 5"], rounds: int) -> Float[Array2, "batch 1"]:
    y = model.forward(x)
    while rounds > 1:
        y = y + model.forward(x)
        rounds -= 1
    return y / rounds


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model.init(rng)
    print(settle(rng.random((2, 5)).astype(np.float32), 3).shape)
