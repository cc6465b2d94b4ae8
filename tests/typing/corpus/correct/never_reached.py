"""Branches that are never taken, whatever the annotations allow."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from typednn import Array2


def type_checking(x: Float[Array2, "4 3"]) -> Float[Array2, "4 3"]:
    if TYPE_CHECKING:
        x = x @ x
    return x


def past_a_false_assertion(x: Float[Array2, "4 3"], flag: bool = False) -> Float[Array2, "4 3"]:
    if flag:
        assert len(x) == 5
        return x @ x
    return x


def after_an_endless_loop(x: Float[Array2, "4 3"]) -> Float[Array2, "4 3"]:
    turns = 0
    while 1:
        turns += 1
        if turns > 70:
            return x
    return x @ x


def of_another_shape(x: Float[Array2, "4 3"]) -> Float[Array2, "4 3"]:
    if x.shape == (3, 3) or x.shape != (4, 3):
        return x @ x
    return x


def none(x: Float[Array2, "4 3"]) -> Float[Array2, "4 3"]:
    if x is None:
        return np.zeros((2, 2))
    return x


def of_another_type(x: Float[Array2, "4 3"]) -> Float[Array2, "4 3"]:
    if not isinstance(x, np.ndarray):
        return np.zeros((2, 2))
    return x


def helper(x: Any) -> Any:
    if isinstance(x, list):
        return x[0] @ x[1]
    return x


def in_a_helper(x: Float[Array2, "4 3"]) -> Float[Array2, "4 3"]:
    return np.asarray(helper(x))


def left_by_break(x: Float[Array2, "4 3"]) -> Float[Array2, "3 4"]:
    for _ in range(3):
        try:
            break
        finally:
            x = x.T
    return x


class Base:
    def sizes(self) -> tuple[int, int]:
        return 4, 3

    def product(self, y: Float[Array2, "k m"]) -> Float[Array2, "_ m"]:
        return self.matrix() @ y

    def matrix(self) -> Array2:
        return np.zeros(self.sizes())


class Derived(Base):
    def sizes(self) -> tuple[int, int]:
        return 2, 5


def rows(x: Float[Array2, "4 3"]) -> Float[Array2, "8 3"]:
    def twice() -> Iterator[Array2]:
        yield x
        yield x

    return np.concatenate(list(twice()))


if __name__ == "__main__":
    x = np.ones((4, 3))
    print(type_checking(x).shape, past_a_false_assertion(x).shape, after_an_endless_loop(x).shape)
    print(of_another_shape(x).shape, none(x).shape, of_another_type(x).shape, in_a_helper(x).shape)
    print(left_by_break(x).shape, Derived().product(np.ones((5, 7))).shape, rows(x).shape)
