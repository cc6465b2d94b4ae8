"""Codes to scores."""

from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear

small = Linear(25, 2)


def classify(code: Float[Array2, "batch 25"]) -> Float[Array2, "batch 2"]:
    return small.forward(code)
