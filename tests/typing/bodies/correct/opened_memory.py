"""What a context manager gives."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from jaxtyping import Float

from typednn import Array2


@contextmanager
def opened(rows: int) -> Iterator[Float[Array2, "rows 4"]]:
    try:
        yield np.ones((rows, 4))
    finally:
        print("closed")


def scores(rows: int) -> Array2:
    with opened(rows) as x:
        y: Array2 = x @ np.ones((4, 3))
        return y


if __name__ == "__main__":
    print(scores(2).shape)
