"""A tower for each kind of input, joined by a layer for one tower less."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear

INPUTS = {"text": 30, "image": 64, "price": 1}
CODE = 10

rng = np.random.default_rng(0)
towers = {name: Linear(features, CODE, rng=rng) for name, features in INPUTS.items()}
join = Linear(2 * CODE, 2, rng=rng)  # shape


def classify(
    text: Float[Array2, "batch 30"], image: Float[Array2, "batch 64"], price: Float[Array2, "batch 1"]
) -> Float[Array2, "batch 2"]:
    codes = [towers["text"].forward(text), towers["image"].forward(image), towers["price"].forward(price)]
    return join.forward(np.concatenate(codes, axis=1))  # meets


if __name__ == "__main__":
    print(classify(*(np.ones((2, n), np.float32) for n in INPUTS.values())).shape)
