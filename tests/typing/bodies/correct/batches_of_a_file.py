"""A generator of batches."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from typednn import Array2


def batches(rows: list[list[float]]) -> Iterator[Float[Array2, "_ 4"]]:
    for row in rows:
        yield np.full((3, 4), sum(row))


if __name__ == "__main__":
    print([each.shape for each in batches([[1.0, 2.0], [3.0]])])
