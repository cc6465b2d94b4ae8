"""Losses and metrics as annotated functions that call one another."""

import numpy as np
from jaxtyping import Float, Integer

from typednn import Array1, Array2, IntArray1
from typednn.layers import Linear, Softmax


def one_hot(labels: Integer[IntArray1, " batch"], classes: int) -> Float[Array2, "batch {classes}"]:
    rows: Array2 = np.eye(classes)[labels]
    return rows


def squared(prediction: Float[Array2, "batch features"], target: Float[Array2, "batch features"]) -> Float[Array1, " batch"]:
    errors: Array1 = ((prediction - target) ** 2).sum(axis=1)
    return errors


def brier(scores: Float[Array2, "batch classes"], labels: Integer[IntArray1, " batch"]) -> float:
    probabilities = Softmax().forward(scores)
    return float(squared(probabilities, one_hot(labels, scores.shape[1])).mean())


def accuracy(scores: Float[Array2, "batch 10"], labels: Integer[IntArray1, " batch"]) -> float:
    return float((scores.argmax(axis=1) == labels).mean())


fc = Linear(5, 10)


def report(x: Float[Array2, "samples 5"], labels: Integer[IntArray1, " samples"]) -> tuple[float, float]:
    scores = fc.forward(x)
    return accuracy(scores, labels), brier(scores, labels)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    fc.init(rng)
    print(report(np.ones((4, 5), np.float32), np.array([1, 2, 3, 4])))
