"""The new centres of k-means."""

import numpy as np
from jaxtyping import Float

from typednn import Array2


def update(points: Float[Array2, "count features"], assigned: Float[Array2, "count clusters"]) -> Float[Array2, "clusters features"]:
    totals = assigned.T @ points
    centres: Array2 = totals / assigned.sum(axis=0)[:, None]
    return centres


if __name__ == "__main__":
    print(update(np.ones((7, 5)), np.ones((7, 3))).shape)
