"""Sizes that a guard makes equal, or excludes."""

import unittest
from typing import Any

import numpy as np
from jaxtyping import Float

from typednn import Array1, Array2


def by_numpy(x: Float[Array2, "n k"], y: Float[Array2, "m l"]) -> Float[Array2, "n k"]:
    np.testing.assert_equal(x.shape, y.shape)
    return x + y


def by_values(x: Float[Array2, "n k"], y: Float[Array2, "m k"]) -> Float[Array2, "n k"]:
    np.testing.assert_allclose(x, y)
    return x + y


def by_unittest(x: Float[Array2, "n k"], y: Float[Array2, "m k"]) -> Float[Array2, "n k"]:
    unittest.TestCase().assertEqual(x.shape, y.shape)  # noqa: PT009
    return x + y


def by_a_set(x: Float[Array2, "n k"], y: Float[Array2, "m k"]) -> Float[Array2, "n k"]:
    if len({len(each) for each in (x, y)}) > 1:
        raise ValueError
    return x + y


def by_two_in_a_set(x: Float[Array2, "n k"], y: Float[Array2, "m k"]) -> Float[Array2, "n k"]:
    assert len({x.shape, y.shape}) == 1
    return x + y


def by_a_difference(x: Float[Array2, "n k"], y: Float[Array2, "m k"]) -> Float[Array2, "n k"]:
    if len(x) - len(y):
        return x
    return x + y


def by_a_pattern(x: Float[Array2, "n k"]) -> Float[Array2, "2 3"]:
    match x.shape:
        case (2, 3):
            return x
        case _:
            return np.zeros((2, 3))


def by_their_contents(x: Float[Array2, "n k"], y: Float[Array2, "m k"]) -> Float[Array2, "n k"]:
    if not np.array_equal(x, y):
        return x
    return x + y


def check(*arrays: Any) -> None:
    lengths = {len(each) for each in arrays}
    if len(lengths) > 1:
        raise ValueError(lengths)


def by_a_helper(x: Float[Array2, "n k"], y: Float[Array2, "m k"]) -> Float[Array2, "n k"]:
    check(x, y)
    return x + y


def fit(x: Any, y: Any) -> bool:
    return bool(x.shape == y.shape)


def by_a_question(x: Float[Array2, "n k"], y: Float[Array2, "m k"]) -> Float[Array2, "n k"]:
    return x + y if fit(x, y) else x


class Square:
    def __init__(self, rows: int, columns: int) -> None:
        self.rows, self.columns = rows, columns
        self._check()

    def _check(self) -> None:
        if self.rows != self.columns:
            raise ValueError

    def diagonal(self, x: Float[Array1, "{self.rows}"], y: Float[Array1, "{self.columns}"]) -> Float[Array1, " _"]:
        return x + y


def empty(x: Float[Array2, "n 3"]) -> Float[Array2, "n 3"]:
    if not len(x):
        return np.zeros((0, 3))
    return x


def none(x: Float[Array2, "n 3"] | None = None) -> Float[Array2, "n 3"]:
    if x is None:
        return np.zeros((5, 3))
    return x


def of_no_rows(x: Float[Array2, "n 3"]) -> Float[Array2, "n 3"]:
    rows = [row * 2 for row in x]
    if rows:
        return np.stack(rows)
    return np.zeros((0, 3))


def written(x: Float[Array2, "n 3"]) -> Float[Array2, "5 3"]:
    out = np.zeros((5, 3))
    out[:3] = x
    out[:3] += x
    return out


if __name__ == "__main__":
    x = np.ones((2, 3))
    for function in (by_numpy, by_values, by_unittest, by_a_set, by_two_in_a_set, by_a_difference, by_a_helper):
        print(function(x, x).shape)
    print(by_a_pattern(x).shape, by_their_contents(x, x).shape, by_a_question(x, x).shape)
    print(Square(2, 2).diagonal(x[:, 0], x[:, 0]).shape, empty(x[:0]).shape, none().shape, of_no_rows(x[:0]).shape)
    print(written(np.ones((3, 3))).shape)
