"""A layer whose parameters are in a dict."""

import numpy as np
from jaxtyping import Float

from typednn import Array2


def forward(x: Float[Array2, "batch 4"], parameters: dict[str, Float[Array2, "4 4"]], last: Float[Array2, "4 3"]) -> Array2:
    hidden: Array2 = np.maximum(x @ parameters["first"], 0.0)
    y: Array2 = hidden @ last
    return y


if __name__ == "__main__":
    print(forward(np.ones((2, 4)), {"first": np.ones((4, 4))}, np.ones((4, 3))).shape)
