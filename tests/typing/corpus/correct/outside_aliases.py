"""Aliases of arrays: for the type checker alone, generic in the dtype or in the array, and of annotated arrays."""

from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from jaxtyping import Float, Num, Shaped

if TYPE_CHECKING:
    Array: TypeAlias = npt.NDArray[Any]
    ArrayLike: TypeAlias = npt.NDArray[Any] | float
else:
    Array = np.ndarray
    ArrayLike = np.ndarray | float

D = TypeVar("D", bound=np.generic)
Of: TypeAlias = npt.NDArray[D]
Vector: TypeAlias = Float[Array, " n"]
Matrix = Float[Array, "n m"]
Square: TypeAlias = Float[Array, "n n"]


def outer(x: Vector, y: Vector) -> Square:
    product: Array = x[:, None] * y
    return product


def applied(m: Square, x: Vector) -> Vector:
    """``Vector`` is of ``n`` on the left and on the right: so the matrix is square."""
    result: Array = m @ x
    return result


def flat(m: Matrix) -> Float[Array, " n*m"]:
    return m.reshape(-1)


def first(x: Shaped[Of[D], "n *rest"]) -> Shaped[Of[D], "*rest"]:
    row: Of[D] = x[0]
    return row


def doubled(x: Num[Array, "*shape"]) -> Num[Array, "*shape"]:
    return 2 * x


def scaled(x: Float[Array, " n"], by: ArrayLike) -> Float[Array, " n"]:
    return x * by


if __name__ == "__main__":
    x = np.ones(3)
    print(applied(outer(x, x), x).shape, flat(np.ones((2, 3))).shape, first(outer(x, x)).shape, doubled(scaled(x, 2.0)).shape)
