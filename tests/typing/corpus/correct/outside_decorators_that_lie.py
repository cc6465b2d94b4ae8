"""Decorators typed to keep a function as it is, which change what it reads and gives all the same, as many libraries' are."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Float

F = TypeVar("F", bound=Callable[..., Any])


def vmap(function: F) -> F:
    @wraps(function)
    def mapped(*arrays: Any) -> Any:
        return np.stack([function(*each) for each in zip(*arrays, strict=True)])

    return mapped  # type: ignore[return-value]


def flipped(*, axes: tuple[int, int]) -> Callable[[F], F]:
    def decorate(function: F) -> F:
        @wraps(function)
        def turned(self: Any, x: Any) -> Any:
            return function(self, np.transpose(x, axes))

        return turned  # type: ignore[return-value]

    return decorate


@vmap
def dot(x: Float[np.ndarray, " 3"], y: Float[np.ndarray, " 3"]) -> Float[np.ndarray, ""]:
    return np.asarray((x * y).sum())


class Reader:
    @flipped(axes=(1, 0))
    def read(self, x: Float[np.ndarray, "3 2"]) -> Float[np.ndarray, "3 2"]:
        twice: np.ndarray = x + x
        return twice

    def both(self, x: Float[np.ndarray, "2 3"]) -> Float[np.ndarray, "2 2"]:
        product: np.ndarray = x @ self.read(x)
        return product


def pairs(x: Float[np.ndarray, "5 3"]) -> Float[np.ndarray, " 5"]:
    products: np.ndarray = dot(x, x) + dot(x[::-1], x)
    return products


def reads(x: Float[np.ndarray, "2 3"], reader: Reader) -> Float[np.ndarray, "3 2"]:
    y: np.ndarray = reader.read(x)
    return y


if __name__ == "__main__":
    x = np.ones((2, 3), np.float32)
    print(pairs(np.ones((5, 3), np.float32)).shape, reads(x, Reader()).shape, Reader().both(x).shape)
