"""The squared distances of points to centres: both get their new axis at the same place."""

import numpy as np
from jaxtyping import Float

from typednn import Array2


def distances(points: Float[Array2, "count features"], centres: Float[Array2, "clusters features"]) -> Float[Array2, "count clusters"]:
    difference = points[:, None] - centres[:, None]  # shape: count clusters
    squared: Array2 = (difference**2).sum(axis=2)
    return squared


if __name__ == "__main__":
    print(distances(np.ones((7, 5)), np.ones((3, 5))).shape)
