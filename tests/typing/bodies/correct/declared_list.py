"""A list with an annotation."""

import numpy as np
from jaxtyping import Float

from typednn import Array2


def widths(x: Float[Array2, "batch 4"]) -> list[int]:
    parts: list[Float[Array2, "_ 4"]] = [x, np.ones((3, 4))]
    return [part.shape[1] for part in parts]


if __name__ == "__main__":
    print(widths(np.ones((2, 4))))
