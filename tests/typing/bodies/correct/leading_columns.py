"""The first two columns, turned."""

from typing import Any

import numpy as np
from jaxtyping import Float

from typednn import Array2


def turned(x: Float[Array2, "count columns"]) -> Array2:
    rotation: Array2 = np.eye(2)
    y: Array2 = x[:, :2] @ rotation
    return y


def ones(sizes: str) -> Any:
    return np.ones(tuple(map(int, sizes.split())))


if __name__ == "__main__":
    print(turned(ones("5 7")).shape)
