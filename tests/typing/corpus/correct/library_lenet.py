"""The library's own LeNet5, in a function with annotations and with a new head."""

import numpy as np
from jaxtyping import Float

from typednn import Array2, Array4
from typednn.layers import Linear
from typednn.models import LeNet5, lenet5

by_hand = LeNet5(softmax=False)
stacked = lenet5(softmax=False)
probabilities = lenet5()
with_head = stacked >> Linear(10, 2)


def scores(x: Float[Array4, "batch 28 28 1"]) -> Float[Array2, "batch 10"]:
    return by_hand.forward(x) + probabilities.forward(x)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    for model in (by_hand, with_head, probabilities):
        model.init(rng)
    x = np.ones((2, 28, 28, 1), np.float32)
    print(scores(x).shape, with_head.forward(x).shape)
