"""A layer whose parameters are in a dict."""

from typing import Any

import numpy as np
from jaxtyping import Float

from typednn import Array2


def forward(x: Float[Array2, "batch 4"], parameters: dict[str, Float[Array2, "4 4"]], last: Float[Array2, "4 3"]) -> Array2:
    hidden: Array2 = np.maximum(x @ parameters["first"], 0.0)
    y: Array2 = hidden @ last
    return y


def ones(sizes: str) -> Any:
    return np.ones(tuple(map(int, sizes.split())))


if __name__ == "__main__":
    print(forward(ones("2 4"), {"first": ones("4 4")}, ones("4 3")).shape)
