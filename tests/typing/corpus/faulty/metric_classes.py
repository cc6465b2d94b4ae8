"""A metric for ten classes is asked about a hundred."""

import numpy as np
from jaxtyping import Float, Integer

from typednn import Array2, IntArray1
from typednn.layers import Linear

fc = Linear(5, 100)


def accuracy(scores: Float[Array2, "batch 10"], labels: Integer[IntArray1, " batch"]) -> float:
    return float((scores.argmax(axis=1) == labels).mean())


def report(x: Float[Array2, "batch 5"], labels: Integer[IntArray1, " batch"]) -> float:
    """It runs all the same: a largest score is found among any number."""
    scores = fc.forward(x)
    return accuracy(scores, labels)  # shape: 100


if __name__ == "__main__":
    fc.init(np.random.default_rng(0))
    print(report(np.ones((4, 5), np.float32), np.array([1, 2, 3, 4])))
