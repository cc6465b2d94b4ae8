"""A training step hands the gradient by the features to the model, which wants that by the scores."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear, ReLU

body = Linear(20, 50) >> ReLU()
head = Linear(50, 5)


def step(x: Float[Array2, "batch 20"], target: Float[Array2, "batch 5"]) -> Float[Array2, "batch 20"]:
    features = body.forward(x)
    scores = head.forward(features)
    print(head.backward(scores - target).norm())
    return body.backward(scores).input  # shape: 50


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    body.init(rng)
    head.init(rng)
    step(np.ones((2, 20), np.float32), np.ones((2, 5), np.float32))
