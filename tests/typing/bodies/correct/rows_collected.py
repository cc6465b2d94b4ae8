"""An array of the rows of a loop."""

import numpy as np
from jaxtyping import Float

from typednn import Array2


def scaled(x: Float[Array2, "count 3"]) -> Float[Array2, "count 3"]:
    rows = [row / row.sum() for row in x]
    y: Array2 = np.array(rows)
    return y


if __name__ == "__main__":
    print(scaled(np.ones((5, 3))).shape)
