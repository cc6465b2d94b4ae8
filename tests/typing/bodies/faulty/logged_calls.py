"""A function under a decorator that logs its calls: it is given columns for rows; runs all the same."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import numpy as np
from jaxtyping import Float

from typednn import Array2

P = ParamSpec("P")
R = TypeVar("R")


def logged(function: Callable[P, R]) -> Callable[P, R]:
    @wraps(function)
    def inner(*args: P.args, **kwargs: P.kwargs) -> R:
        print("called")
        return function(*args, **kwargs)

    return inner


@logged
def doubled(x: Float[Array2, "batch 4"]) -> Float[Array2, "batch 4"]:
    return 2 * x


def scores(x: Float[Array2, "batch 4"]) -> Array2:
    return doubled(x.T)  # shape: doubled x 4 batch


if __name__ == "__main__":
    print(scores(np.ones((2, 4))).shape)
