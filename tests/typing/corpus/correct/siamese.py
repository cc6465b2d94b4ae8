"""A siamese net: towers of different inputs, features alike, batches that need not be equal."""

import numpy as np
from jaxtyping import Float

from typednn import Array1, Array2
from typednn.layers import Linear, Tanh

question = Linear(100, 64) >> Tanh() >> Linear(64, 32)
answer = Linear(80, 64) >> Tanh() >> Linear(64, 32)


def distance(a: Float[Array2, "batch features"], b: Float[Array2, "batch features"]) -> Float[Array1, " batch"]:
    squares: Array1 = ((a - b) ** 2).sum(axis=1)
    return squares


def nearest(questions: Float[Array2, "asked 100"], answers: Float[Array2, "known 80"]) -> Float[Array2, "asked known"]:
    q = question.forward(questions)
    a = answer.forward(answers)
    rows = [distance(np.broadcast_to(row, a.shape), a) for row in q]
    return np.stack(rows)


def same(questions: Float[Array2, "pairs 100"], answers: Float[Array2, "pairs 80"]) -> Float[Array1, " pairs"]:
    return distance(question.forward(questions), answer.forward(answers))


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    question.init(rng)
    answer.init(rng)
    x, y = np.ones((3, 100), np.float32), np.ones((3, 80), np.float32)
    print(nearest(x, y[:2]).shape, same(x, y).shape)
