"""A list with an annotation: one of the arrays is too wide; runs all the same."""

import numpy as np
from jaxtyping import Float

from typednn import Array2


def widths(x: Float[Array2, "batch 4"]) -> list[int]:
    parts: list[Float[Array2, "_ 4"]] = [x, np.ones((3, 5))]  # shape: parts[1] 4 5
    return [part.shape[1] for part in parts]


if __name__ == "__main__":
    print(widths(np.ones((2, 4))))
