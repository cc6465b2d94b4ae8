"""Decorators as of compilers: typed by a variable, by parameters, with arguments, or a class with ``__call__`` and ``lower``."""

from collections.abc import Callable
from functools import lru_cache, partial, wraps
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np
from jaxtyping import Float

from typednn import Array1, Array2

F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")
R = TypeVar("R")


class Compiled(Generic[P, R]):
    def __init__(self, function: Callable[P, R]) -> None:
        self.function = function

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    def lower(self, *shapes: tuple[int, ...]) -> str:
        return str(shapes)


def jit(function: Callable[P, R]) -> Compiled[P, R]:
    return Compiled(function)


def logged(*, name: str) -> Callable[[F], F]:
    return lambda function: function


def averaged(function: Callable[[Array1], Array1]) -> Callable[[Array2], Array1]:
    @wraps(function)
    def wrapper(rows: Array2) -> Array1:
        row: Array1 = rows.mean(axis=0)
        return function(row)

    return wrapper


@jit
def scaled(x: Float[Array2, "batch features"]) -> Float[Array2, "batch features"]:
    return x * np.float32(2)


@partial(jit)
def doubled(x: Float[Array2, "batch features"]) -> Float[Array2, "batch features"]:
    return scaled(scaled(x))


@logged(name="centre")
@averaged
def centre(x: Float[Array1, " features"]) -> Float[Array1, " features"]:
    return x - np.float32(1)


@lru_cache
def window(size: int) -> Float[Array1, " size"]:
    return np.ones(size, np.float32)


if __name__ == "__main__":
    x = np.ones((2, 3), np.float32)
    print(scaled(x).shape, scaled.lower((2, 3)), doubled(x).shape, centre(x).shape, window(5).shape)
