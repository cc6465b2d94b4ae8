"""What decorators, overriding, vmap, indexing and branches change, with sizes that are numbers."""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Float

from typednn import Array1, Array2, Array3

F = TypeVar("F", bound=Callable[..., Any])


def batched(function: F) -> F:
    """Says that it keeps the type, and still adds an axis to every array."""

    @wraps(function)
    def wrapper(*arrays: Any) -> Any:
        return np.stack([function(*each) for each in zip(*arrays, strict=True)])

    return wrapper  # type: ignore[return-value]


def vmap(function: F, axis: int = 0) -> F:
    return batched(lambda x: function(np.moveaxis(x, axis, 0)))  # type: ignore[return-value]


@batched
def norm(x: Float[Array1, " 3"]) -> Float[Array1, " 3"]:
    return x / np.float32(2)


def one(x: Float[Array1, " 3"]) -> Float[Array1, " 3"]:
    return x + x


def matrix(x: Float[Array2, "2 3"]) -> Float[Array2, "2 3"]:
    return x + x


class Reader:
    @partial(property)
    def weight(self) -> Float[Array2, "2 3"]:
        return np.ones((2, 3), np.float32)

    def of(self, x: Float[Array1, " 3"]) -> Float[Array1, " 3"]:
        return x


class Batched(Reader):
    def of(self, x: Float[np.ndarray, "*batch 3"]) -> Float[np.ndarray, "*batch 3"]:
        return x


def called(x: Float[Array2, "2 3"], stack: Float[Array3, "5 2 3"], reader: Reader) -> Float[Array2, "2 3"]:
    norm(x)  # type: ignore[arg-type]
    vmap(one)(x)  # type: ignore[arg-type]
    vmap(vmap(one))(stack)  # type: ignore[arg-type]
    vmap(matrix)(stack)  # type: ignore[arg-type]
    vmap(matrix, 0)(stack)  # type: ignore[arg-type]
    matrix(reader.weight)
    Batched().of(stack)
    Batched().of(x)
    return matrix(x)


def branched(x: Float[Array2, "2 3"], turned: bool, times: int) -> Float[Array2, "2 3"]:
    y = x.T if turned else x
    if turned:
        y = y.T
    y = matrix(y)
    rows: Array2 = y
    for _ in range(times):
        rows = np.concatenate([rows, y])
    while len(rows) > 2:
        rows = rows[1:]
    try:
        rows = matrix(rows.T.T)
    except ValueError:
        rows = np.zeros((2, 3), np.float32)
    return matrix(rows)


def of_any_rank(x: Float[np.ndarray, "..."]) -> Float[Array2, "2 3"]:
    if x.ndim == 1:
        x = np.stack([x, x])
    elif x.ndim == 3:
        x = x[0]
    if x.shape == (3, 2):
        x = x.T
    return matrix(x)


def reshaped(x: Float[Array2, "2 3"], *, flat: bool = False) -> Float[np.ndarray, "..."]:
    shape = x.shape
    v = x.reshape(-1) if flat else x
    v = v[None] if v.ndim == 2 else v[:3]
    w: Array2 = v.reshape(shape) if not flat else x
    return matrix(w)


if __name__ == "__main__":
    x = np.ones((2, 3), np.float32)
    print(called(x, np.ones((5, 2, 3), np.float32), Reader()).shape, branched(x, True, 3).shape, branched(x, False, 0).shape)
    print([of_any_rank(each).shape for each in (x, x[0], x[None], x.T)], reshaped(x).shape, reshaped(x, flat=True).shape)
