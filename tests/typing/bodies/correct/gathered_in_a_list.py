"""Arrays that are handed over in a list."""

import numpy as np
from jaxtyping import Float

from typednn import Array2


def total(parts: list[Float[Array2, "_ 4"]]) -> float:
    return sum(float(part.sum()) for part in parts)


def both(x: Float[Array2, "batch 4"], y: Float[Array2, "batch 3"]) -> float:
    return total([x, np.hstack([y, y[:, :1]])])


if __name__ == "__main__":
    print(both(np.ones((2, 4)), np.ones((2, 3))))
