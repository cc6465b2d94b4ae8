"""A function annotated with ten classes returns eleven."""

from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear, ReLU

hidden, relu = Linear(784, 128), ReLU()
scores = Linear(128, 11)  # right: scores = Linear(128, 10)


def classify(x: Float[Array2, "batch 784"]) -> Float[Array2, "batch 10"]:
    """Scores for ten classes."""
    return scores.forward(relu.forward(hidden.forward(x)))
