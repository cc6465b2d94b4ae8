"""Methods whose decorators add an axis, drop one, or turn the array around, and say no more than that they give a callable."""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import numpy as np
from jaxtyping import Float


def vmap(method: Callable[..., Any], axis: int = 0) -> Callable[..., Any]:
    @wraps(method)
    def mapped(self: Any, x: np.ndarray) -> np.ndarray:
        return np.stack([method(self, each) for each in np.moveaxis(x, axis, 0)])

    return mapped


def averaged(method: Callable[[Any, np.ndarray], np.ndarray]) -> Callable[[Any, np.ndarray], np.ndarray]:
    @wraps(method)
    def wrapper(self: Any, x: np.ndarray) -> np.ndarray:
        return method(self, x.mean(axis=0))

    return wrapper


def turned(method: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: method(x.T)


class Affine:
    def __init__(self, weight: Float[np.ndarray, "4 3"]) -> None:
        self.weight = weight

    @vmap
    def rows(self, x: Float[np.ndarray, " 3"]) -> Float[np.ndarray, " 4"]:
        y: np.ndarray = self.weight @ x
        return y

    @partial(vmap, axis=1)
    def columns(self, x: Float[np.ndarray, " 3"]) -> Float[np.ndarray, " 4"]:
        y: np.ndarray = self.weight @ x
        return y

    @averaged
    def of_mean(self, x: Float[np.ndarray, " 3"]) -> Float[np.ndarray, " 4"]:
        y: np.ndarray = self.weight @ x
        return y

    @staticmethod
    @turned
    def doubled(x: Float[np.ndarray, "3 5"]) -> Float[np.ndarray, "3 5"]:
        y: np.ndarray = x * 2
        return y

    def all(self, x: Float[np.ndarray, "5 3"]) -> Float[np.ndarray, "5 4"]:
        y: np.ndarray = self.rows(x) + self.columns(x.T) + self.of_mean(x)
        return y


def everything(affine: Affine, x: Float[np.ndarray, "5 3"]) -> Float[np.ndarray, "5 4"]:
    affine.doubled(x)
    y: np.ndarray = affine.all(x) + affine.rows(x) + affine.columns(x.T) + affine.of_mean(x)
    return y


if __name__ == "__main__":
    affine, x = Affine(np.ones((4, 3), np.float32)), np.ones((5, 3), np.float32)
    print(everything(affine, x).shape)
