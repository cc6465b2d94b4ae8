"""The arrays of `outside_tensors`, from a module that mypy does not find, so of type Any: their methods need not be NumPy's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from jaxtyping import Float

if TYPE_CHECKING:
    Tensor: TypeAlias = Any
else:
    from outside_tensors import Tensor


def weigh(x: Float[Tensor, "... columns"]) -> Float[Tensor, "... columns"]:
    return x


def matrices(x: Float[Tensor, "batch rows columns"]) -> Float[Tensor, "batch columns rows"]:
    y = x.T
    weigh(y.sum(0))
    return y


def without_first(x: Float[Tensor, "batch rows columns"]) -> Float[Tensor, "rows columns"]:
    return weigh(x.copy())


def tall(x: Float[Tensor, "3 2"]) -> Float[Tensor, "3 2"]:
    return x


def wide(x: Float[Tensor, "2 3"]) -> Float[Tensor, "2 3"]:
    return x


def turned(x: Float[Tensor, "2 3"]) -> Float[Tensor, "2 3"]:
    y = wide(tall(x.transpose(0, 1)).T)
    tall(y.transpose(1, 0).reshape(3, 2))
    return wide(x * y)


if __name__ == "__main__":
    x, y = Tensor((2, 3)), Tensor((4, 2, 3))
    print(turned(x).shape, matrices(y).shape, without_first(y).shape)
