"""Two towers of a siamese net give 32 and 24 features, and their distance is wanted; NumPy refuses it."""

import numpy as np
from jaxtyping import Float

from typednn import Array1, Array2
from typednn.layers import Linear, Tanh

question = Linear(100, 64) >> Tanh() >> Linear(64, 32)
answer = Linear(80, 64) >> Tanh() >> Linear(64, 24)


def distance(a: Float[Array2, "batch features"], b: Float[Array2, "batch features"]) -> Float[Array1, " batch"]:
    squares: Array1 = ((a - b) ** 2).sum(axis=1)
    return squares


def rank(questions: Float[Array2, "batch 100"], answers: Float[Array2, "batch 80"]) -> Float[Array1, " batch"]:
    q = question.forward(questions)
    a = answer.forward(answers)
    return distance(q, a)  # shape: 24


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    question.init(rng)
    answer.init(rng)
    rank(np.ones((3, 100), np.float32), np.ones((3, 80), np.float32))
