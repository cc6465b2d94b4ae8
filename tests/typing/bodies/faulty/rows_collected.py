"""An array of the rows of a loop: each row gets a further number; it runs all the same."""

import numpy as np
from jaxtyping import Float

from typednn import Array2


def scaled(x: Float[Array2, "count 3"]) -> Float[Array2, "count 3"]:
    rows = [np.append(row, row.sum()) for row in x]
    y: Array2 = np.array(rows)
    return y  # shape: 3 4


if __name__ == "__main__":
    print(scaled(np.ones((5, 3))).shape)
