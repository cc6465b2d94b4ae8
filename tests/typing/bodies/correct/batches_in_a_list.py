"""Scores of batches of any lengths."""

from typing import Any

import numpy as np
from jaxtyping import Float

from typednn import Array2


def scores(batches: list[Float[Array2, "_ 4"]], weight: Float[Array2, "3 4"]) -> list[Float[Array2, "_ 3"]]:
    return [batch @ weight.T for batch in batches]


def ones(sizes: str) -> Any:
    return np.ones(tuple(map(int, sizes.split())))


if __name__ == "__main__":
    print([each.shape for each in scores([ones("2 4"), ones("7 4")], ones("3 4"))])
