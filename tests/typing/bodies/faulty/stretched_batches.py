"""Batches that broadcast: two of them do not; runs all the same."""

import numpy as np
from jaxtyping import Float


def larger(x: Float[np.ndarray, "*#batch 4"], y: Float[np.ndarray, "*#batch 4"]) -> int:
    return max(x.size, y.size)


def sizes() -> int:
    return larger(np.ones((2, 3, 4)), np.ones((5, 3, 4)))  # shape: *batch 2 5


if __name__ == "__main__":
    print(sizes())
