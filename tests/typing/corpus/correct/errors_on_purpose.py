"""Lines that are meant to fail: something around them catches the error."""

import contextlib
import unittest
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import numpy as np
import pytest
from jaxtyping import Float

from typednn import Array2


def first_that_fits(x: Float[Array2, "3 3"], shapes: Sequence[tuple[int, int]]) -> int:
    found = 0
    for rows, columns in shapes:
        try:
            x.reshape(rows, columns)
            x.reshape(4, 2)
        except ValueError:
            continue
        found += 1
    return found


def tried(x: Float[Array2, "3 3"]) -> Float[Array2, "3 3"]:
    try:
        return x @ np.ones((4, 3))
    except (ValueError, TypeError):
        return x


def within_a_finally(x: Float[Array2, "3 3"]) -> Float[Array2, "3 3"]:
    try:
        try:
            x = x @ np.ones((4, 3))
        finally:
            x = x + 1
    except ValueError:
        pass
    return x


def suppressed(x: Float[Array2, "3 3"]) -> None:
    with contextlib.suppress(ValueError):
        x @ np.ones((4, 2))


def raised(x: Float[Array2, "3 3"]) -> None:
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="matmul"):
        x @ np.ones((4, 2))


def raised_inside(x: Float[Array2, "3 3"]) -> None:
    def wrong() -> Array2:
        return x + np.ones((4, 2))

    with pytest.raises(ValueError, match="broadcast"):
        wrong()


class Case(unittest.TestCase):
    def raised(self, x: Float[Array2, "3 3"]) -> None:
        with self.assertRaises(ValueError):  # noqa: PT027
            x @ np.ones((4, 2))


class Catching:
    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: Any, traceback: TracebackType | None) -> bool:
        return kind is not None


def caught(x: Float[Array2, "3 3"]) -> None:
    with Catching():
        x @ np.ones((4, 2))


def helper(x: Any, y: Any) -> Any:
    try:
        return x @ y
    except ValueError:
        return x


def caught_in_a_helper(x: Float[Array2, "4 3"]) -> Float[Array2, "4 3"]:
    return np.asarray(helper(x, x))


if __name__ == "__main__":
    x = np.ones((3, 3))
    suppressed(x)
    raised(x)
    raised_inside(x)
    Case().raised(x)
    caught(x)
    print(first_that_fits(x, [(9, 1)]), tried(x).shape, within_a_finally(x).shape, caught_in_a_helper(np.ones((4, 3))).shape)
