"""A sequence of six features is compared with one of seven; the scores of each token with labels of one token less."""

import numpy as np
from jaxtyping import Float, Integer

from typednn import Array3, IntArray2
from typednn.layers import SequenceLinear
from typednn.losses import NLL, Huber

head = SequenceLinear(4, 6)


def distance(x: Float[Array3, "batch time 4"], y: Float[Array3, "batch time 7"]) -> float:
    prediction = head.forward(x)
    return Huber().loss(prediction, y)  # shape: 7


def likelihood(x: Float[Array3, "batch 5 4"], labels: Integer[IntArray2, "batch 4"]) -> float:
    return NLL().loss(head.forward(x), labels)  # shape: 4


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    head.init(rng)
    x = rng.random((2, 5, 4)).astype(np.float32)
    likelihood(x, rng.integers(0, 6, (2, 4)))
