"""A function sees what a name holds when it is called, not when it is defined; so does a generator."""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from typednn import Array2


def of_a_loop(x: Float[Array2, "4 3"]) -> Float[Array2, "4 2"]:
    columns: list[Callable[[], Array2]] = []
    for count in (1, 2):
        columns.append(lambda: x[:, :count])  # noqa: B023
    return columns[0]()


def of_a_comprehension(x: Float[Array2, "4 3"]) -> Float[Array2, "4 2"]:
    columns = [lambda: x[:, :count] for count in (1, 2)]  # noqa: B023
    return columns[0]()


def of_a_definition_in_a_loop(x: Float[Array2, "4 3"]) -> Float[Array2, "4 3"]:
    columns: list[Callable[[], Array2]] = []
    for part in (x[:, :1], x):

        def get() -> Array2:
            return part  # noqa: B023

        columns.append(get)
    return columns[0]()


def of_a_generator(x: Float[Array2, "4 3"]) -> Float[np.ndarray, "2 3 4"]:
    y = x
    turned = (y for _ in range(2))
    y = x.T
    return np.stack(list(turned))


def nonlocal_in_a_helper(x: Any) -> Any:
    y = x

    def turn() -> None:
        nonlocal y
        y = y.T

    turn()
    return y


def of_a_helper(x: Float[Array2, "4 3"]) -> Float[Array2, "3 4"]:
    return np.asarray(nonlocal_in_a_helper(x))


if __name__ == "__main__":
    x = np.ones((4, 3))
    print(of_a_loop(x).shape, of_a_comprehension(x).shape, of_a_definition_in_a_loop(x).shape)
    print(of_a_generator(x).shape, of_a_helper(x).shape)
