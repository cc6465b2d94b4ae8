"""Arrays that are handed over to a function with an alias."""

import numpy as np
from jaxtyping import Float

from typednn import Array2

Images = Float[Array2, "batch 4"]


def total(x: Images) -> float:
    return float(x.sum())


def both(x: Images, y: Float[Array2, "batch 3"]) -> float:
    return total(x) + total(np.hstack([y, y[:, :1]]))


if __name__ == "__main__":
    print(both(np.ones((2, 4)), np.ones((2, 3))))
